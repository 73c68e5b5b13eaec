// build.mjs - puts the page that plans into one file, which needs no other
//
//     node build.mjs ROOT BUILD VERSION OUT
//
// ROOT is the source tree, BUILD the folder with plait.js, plait.wasm and the bundled charts.
import {mkdirSync, readFileSync, readdirSync, statSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {dirname, join, resolve} from "node:path";
import {gzipSync} from "node:zlib";

const [root, build, version, out] = process.argv.slice(2);
const web = join(root, "src/web"), page = join(root, "src/page/web"), pages = join(build, "pages");
const esbuild = createRequire(resolve(pages, "charts.js.npm/node_modules/x.js"))("esbuild");
const read = (...path) => readFileSync(join(...path), "utf8");
const packed = (bytes) => gzipSync(bytes, {level: 9}).toString("base64");

/* The data that the program reads; clusters/measurements are read by `plait calibrate` alone. */
function dataOf(folder, into = {}) {
    for (const name of readdirSync(join(root, folder)).sort()) {
        const path = folder + "/" + name;
        if (statSync(join(root, path)).isDirectory()) {
            if (path !== "clusters/measurements")
                dataOf(path, into);
        } else if (/\.(json|csv)$/.test(name)) {
            into[path] = read(root, path);
        }
    }
    return into;
}

/* JavaScript that can be in a script element. */
const script = (code) => code.replaceAll("</script", "<\\/script");
const minified = (code, loader = "js") => esbuild.transformSync(code, {minify: true, loader}).code;

const planner = esbuild.buildSync({entryPoints: [join(web, "main.js")], bundle: true, minify: true, write: false,
                                   format: "iife", target: "es2022"}).outputFiles[0].text;
const parts = {
    style: minified(read(page, "page.css") + read(web, "planner.css"), "css"),
    program: packed(readFileSync(join(build, "plait.wasm"))),
    files: packed(JSON.stringify({...dataOf("models"), ...dataOf("clusters")})),
    worker: script(read(build, "plait.js") + minified(read(web, "worker.js"))),
    page: script(minified(read(page, "page.js"))),
    charts: script(read(pages, "charts.js")),
    planner: script(planner),
    version,
};
const html = read(web, "planner.html").replace(/\{\{([a-z]+)\}\}/g, (slot, name) => parts[name]);

mkdirSync(dirname(out), {recursive: true});
writeFileSync(out, html);
const mb = (bytes) => (bytes / 1e6).toFixed(2) + " MB";
console.log(`${out}: ${mb(Buffer.byteLength(html))}, compressed by gzip ${mb(gzipSync(html, {level: 9}).length)}`);
