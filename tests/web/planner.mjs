// planner.mjs - the page that plans, in a headless Chromium: are its answers those of the native program, and
// is it usable, accessible, and quiet
//
//     node planner.mjs NODE_MODULES CHROMIUM PLAIT PAGE SCRATCH PICTURES|-
import {createRequire} from "node:module";
import {execFileSync, spawnSync} from "node:child_process";
import {existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from "node:fs";
import {join, resolve} from "node:path";
import {pathToFileURL} from "node:url";
import {gzipSync} from "node:zlib";

const [modules, chromium, plait, page, scratch, pictures] = process.argv.slice(2);
const require = createRequire(resolve(modules, "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const address = pathToFileURL(page).href;
const PATIENCE_MS = 120000;

let passed = 0, failed = 0;
function check(what, holds, found) {
    if (holds) {
        passed++;
        return;
    }
    failed++;
    console.log(`expected ${what}` + (found === undefined ? "" : `, found ${JSON.stringify(found).slice(0, 2000)}`));
}

/* What a page may do besides being there: nothing. */
const said = [], asked = [];
function listen(tab) {
    tab.on("console", (message) => ["error", "warn"].includes(message.type()) && said.push(message.text()));
    tab.on("pageerror", (error) => said.push(String(error)));
    tab.on("request", (request) => asked.push(request.url()));
}

const native = (argv, more = {}) => spawnSync(plait, argv, {encoding: "utf8", maxBuffer: 1 << 28, cwd: scratch, ...more});

/* The answer without what says how long it took, and on how many threads. */
const timeless = (json) => json.split("\n").filter((line) => !/"(elapsed_s|threads)":/.test(line)).join("\n");

const answered = (tab) => tab.waitForFunction(() => ["done", "failed"].includes(document.documentElement.dataset.answer),
                                              {timeout: PATIENCE_MS});
const textOf = (tab, selector) => tab.$eval(selector, (element) => element.textContent);
const sentence = (tab) => textOf(tab, "#sentence");

async function open(browser, fragment) {
    const tab = await browser.newPage();
    listen(tab);
    await tab.goto(address + fragment, {waitUntil: "load"});
    await answered(tab);
    return tab;
}

/* Types into a field, as a user does; the answer follows. */
async function fill(tab, name, value) {
    const input = await tab.$(`#fields [name=${name}]`);
    await tab.evaluate(() => { document.documentElement.dataset.answer = ""; });
    if (await input.evaluate((element) => element.tagName) === "SELECT") {
        await input.select(value);
    } else {
        await input.evaluate((element) => element.select());
        await input.type(value);
    }
    await answered(tab);
}

async function pressButton(tab, label) {
    await tab.evaluate((text) => [...document.querySelectorAll("button")].find((button) => button.textContent === text).click(), label);
}

async function downloaded(tab, label, pattern) {
    const folder = join(scratch, "downloads");
    const session = await tab.createCDPSession();
    mkdirSync(folder, {recursive: true});
    await session.send("Browser.setDownloadBehavior", {behavior: "allow", downloadPath: folder});
    await pressButton(tab, label);
    for (let tries = 0; tries < PATIENCE_MS / 100; tries++) {
        const name = readdirSync(folder).find((file) => pattern.test(file));
        if (name)
            return join(folder, name);
        await new Promise((done) => setTimeout(done, 100));
    }
    return null;
}

// ---- answers are the bytes of the native program

const COMMANDS = [
    "search llama-3.1-70b dgx-h100 --gpus 512 --seq 8192 --gbs 1024 --json",
    "search deepseek-v3 h800 --gpus 256 --seq 4096 --gbs 1024 --json",
    "search llama-3.1-8b l40s-48gb:2x4 --seq 4096 --gbs 32 --job lora --json",
    "search mixtral-8x7b dgx-a100 --gpus 64 --seq 4096 --gbs 256 --runtime torchtitan --json",
    "search llama-3.1-405b dgx-h100 --gpus 8 --seq 8192 --gbs 64 --json",
    "eval llama-3.1-8b dgx-h100 --gpus 16 --seq 8192 --gbs 64 --tp 2 --pp 2 --json",
    "serve llama-3.1-70b dgx-h100 --gpus ..16 --input 2k --output-tokens 256 --rate 5 --ttft 500ms --tpot 50ms --json",
    "rl llama-3.1-8b dgx-h100 --gpus 32 --prompts 512 --generations 8 --prompt-tokens 512 --answer-tokens 2000,8000 --json",
    "capacity llama-3.1-8b dgx-h100 --gpus 64..128 --tokens 2T --seq 8k --gbs 512 --deadline 60d --refine none --json",
    "clusters --json",
    "search llama-3.1-8b no-such-cluster --seq 8192 --gbs 64",
];

async function answersAreNative(tab) {
    for (const line of COMMANDS) {
        const argv = line.split(" "), theirs = native(argv);
        const ours = await tab.evaluate((words) => plait.run(words), argv);
        check(`status ${theirs.status} of ${line}`, ours.status === theirs.status, ours.status);
        check(`the bytes of the native program: ${line}`, timeless(ours.out) === timeless(theirs.stdout), ours.out.length);
        check(`the messages of the native program: ${line}`, ours.err === theirs.stderr, ours.err);
    }
}

// ---- one question after another

async function firstAnswer(tab) {
    const ms = Number(await tab.evaluate(() => document.documentElement.dataset.openedMs));
    console.log(`llama-3.1-70b on 512 H100: ${(ms / 1000).toFixed(2)} s from opening the page to the first answer, ` +
                await textOf(tab, "#said"));
    check("a step time of the first answer", / takes [\d.]+ s\.$/.test(await sentence(tab)), await sentence(tab));
    check("two bars with parts", await tab.$$eval("#bars .bar", (bars) => bars.length === 2 && bars.every((bar) =>
        bar.querySelectorAll(".track span").length > 4 && bar.querySelectorAll("li").length > 3)));
    for (const chart of await tab.$$eval("figure[data-chart]", (figures) => figures.map((figure) => ({
        chart: figure.dataset.chart, marks: figure.querySelectorAll(".plot svg path").length, text: figure.querySelector(".plot").textContent}))))
        check(`a chart ${chart.chart}`, chart.marks > 0 && !/NaN|undefined/.test(chart.text), chart);
}

async function fitsScreens(tab, what) {
    for (const [width, height] of [[360, 740], [1280, 800]]) {
        await tab.setViewport({width, height});
        await tab.evaluate(() => scrollTo(0, 0));
        const boxes = await tab.$$eval("#sentence, #figures dd:not(.note)", (parts) => parts.map((part) => {
            const box = part.getBoundingClientRect();
            return {text: part.textContent, bottom: box.bottom, right: box.right};
        }));
        check(`${what}: a sentence and three numbers in the first screen of ${width}`, boxes.length === 4 && boxes.every((box) =>
            box.text.length > 0 && box.bottom <= height && box.right <= width), boxes);
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
        check(`${what}: no page wider than ${width}`, wide <= width, wide);
    }
}

/* The page's policy lets nothing in; for the audit alone it is set aside. */
async function isAccessible(tab, what, schemes = ["light", "dark"]) {
    for (const scheme of schemes) {
        await tab.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
        await tab.evaluate(axe);
        const found = await tab.evaluate(() => globalThis.axe.run(document, {resultTypes: ["violations"]}));
        check(`${what}: no violation (axe-core, ${scheme})`, found.violations.length === 0,
              found.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary]));
    }
    await tab.emulateMediaFeatures([]);
}

async function picture(tab, name, width, height, scheme) {
    if (pictures === "-")
        return;
    await tab.setViewport({width, height});
    await tab.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
    await tab.evaluate(() => scrollTo(0, 0));
    await tab.screenshot({path: join(pictures, name)});
    await tab.emulateMediaFeatures([]);
}

/* Downloads are the files of the native program. */
async function downloadsAreNative(tab) {
    const json = await downloaded(tab, "JSON", /\.json$/);
    const argv = (await textOf(tab, "#command")).split(" ").slice(1);
    const theirs = native([...argv, "--json"]).stdout;

    check("the JSON of the native program", json && timeless(readFileSync(json, "utf8")) === timeless(theirs));
    writeFileSync(join(scratch, "plans.json"), readFileSync(json));
    const html = await downloaded(tab, "Page", /\.html$/);
    native(["report", "plans.json", "-o", "native.html"]);
    check("the page of plait report", html && readFileSync(html, "utf8") === readFileSync(join(scratch, "native.html"), "utf8"));
    const archive = await downloaded(tab, "Launch folder", /\.tar$/);
    native(["launch", "plans.json", "-o", "launch"]);
    mkdirSync(join(scratch, "unpacked"));
    execFileSync("tar", ["-xf", archive, "-C", join(scratch, "unpacked"), "--strip-components=1"]);
    const difference = spawnSync("diff", ["-r", join(scratch, "launch"), join(scratch, "unpacked")], {encoding: "utf8"});
    check("the launch folder of the native program", difference.status === 0 && existsSync(join(scratch, "unpacked", "run.sh")), difference.stdout);
    const csv = await downloaded(tab, "CSV", /\.csv$/);
    check("CSV with plans", csv && /step_s/.test(readFileSync(csv, "utf8")));
}

async function rlLaunches(tab) {
    const archive = await downloaded(tab, "Launch folder", /-rl\.tar$/);
    native([...(await textOf(tab, "#command")).split(" ").slice(1), "--launch", "rl"]);
    mkdirSync(join(scratch, "rl-unpacked"));
    execFileSync("tar", ["-xf", archive, "-C", join(scratch, "rl-unpacked"), "--strip-components=1"]);
    const difference = spawnSync("diff", ["-r", join(scratch, "rl"), join(scratch, "rl-unpacked")], {encoding: "utf8"});
    check("the launch folder of plait rl", difference.status === 0 && readdirSync(join(scratch, "rl")).length > 0, difference.stdout);
}

/* A click on an alternative prints what plait explain prints. */
async function explains(tab) {
    const asked = await textOf(tab, "#others button.explain");
    await tab.$eval("#others button.explain", (button) => button.click());
    await tab.waitForFunction(() => document.getElementById("dialog").open && document.getElementById("dialog-text").textContent.length > 9,
                              {timeout: PATIENCE_MS});
    const theirs = native(["explain", "--plan", "plans.json", "--why-not", asked]).stdout;
    const ours = await textOf(tab, "#dialog-text");
    const plain = (text) => text.slice(text.search(/^Why not/m)).replace(/\s+/g, " "); // lines end where the dialog does
    check(`why not ${asked}, by plait explain`, /^Why not/.test(ours) && plain(ours) === plain(theirs), [plain(ours), plain(theirs)]);
    await isAccessible(tab, "dialog", ["dark"]);
    await tab.keyboard.press("Escape");
    check("a dialog that Escape closes", !await tab.$eval("#dialog", (dialog) => dialog.open));
}

async function compares(tab) {
    await pressButton(tab, "Pin to compare");
    await fill(tab, "gpus", "256");
    await tab.waitForSelector("#comparison details pre", {timeout: PATIENCE_MS});
    check("two answers side by side", await tab.$$eval("#comparison .side", (sides) => sides.length === 2));
    check("the differences of plait diff", /step_s/.test(await textOf(tab, "#comparison .difference")));
    check("the question in the address", /gpus=256/.test(await tab.evaluate(() => location.hash)));
    await fitsScreens(tab, "comparison");
    await isAccessible(tab, "comparison", ["light"]);
}

async function linkReproduces(browser, tab) {
    const again = await open(browser, await tab.evaluate(() => location.hash));
    check("the answer of the link", await sentence(again) === await sentence(tab), await sentence(again));
    await again.close();
}

async function readsFiles(tab) {
    const config = join(scratch, "config-модель.json");
    writeFileSync(config, readFileSync("tests/data/hf_configs/llama-3.1-8b.json"));
    await tab.evaluate(() => { document.documentElement.dataset.answer = ""; });
    await (await tab.$("input[type=file]")).uploadFile(config);
    await answered(tab);
    const json = await downloaded(tab, "JSON", /^config/);
    check("the name of the file", /config-модель[.]json/.test(await textOf(tab, "#command")), await textOf(tab, "#command"));
    const theirs = native([...(await textOf(tab, "#command")).split(" ").slice(1), "--json"]).stdout;
    check("an answer for a file of the user", json && timeless(readFileSync(json, "utf8")) === timeless(theirs), await sentence(tab));
}

async function refuses(tab) {
    await fill(tab, "model", "llama-3.1-8c");
    check("the message of the program", /did you mean/.test(await textOf(tab, "#problem")), await textOf(tab, "#problem"));
    await fill(tab, "model", "llama-3.1-405b");
    await fill(tab, "gpus", "8");
    check("a question that no plan answers", /^No plan fits\./.test(await sentence(tab)), await sentence(tab));
    await fitsScreens(tab, "no plan");
    await fill(tab, "more", "--no-such-option");
    check("an unknown option", /--no-such-option/.test(await textOf(tab, "#problem")), await textOf(tab, "#problem"));
    await fill(tab, "more", "--help");
    check("the options of the command", /^usage: plait search/.test(await textOf(tab, "#problem")), await textOf(tab, "#problem"));
    await tab.evaluate(() => plait.addFiles([new File(["weights"], "model.safetensors")]));
    check("a file that is not read", /^model.safetensors: expected/.test(await textOf(tab, "#problem")), await textOf(tab, "#problem"));
}

/* Arrows move between questions; each has an answer and fits a telephone. */
async function kindsByKeyboard(tab) {
    await fill(tab, "more", " ");
    await tab.focus("#kinds input:checked");
    for (const kind of ["tune", "serve"]) {
        await tab.evaluate(() => { document.documentElement.dataset.answer = ""; });
        await tab.keyboard.press("ArrowRight");
        await answered(tab);
        check(`the question ${kind} by an arrow key`, new RegExp("q=" + kind).test(await tab.evaluate(() => location.hash)));
    }
}

async function cancels(browser) {
    const tab = await browser.newPage();
    listen(tab);
    await tab.goto(address + "#q=capacity&model=llama-3.1-70b&gpus=128..1024&refine=all", {waitUntil: "load"});
    await tab.waitForFunction(() => !document.getElementById("cancel").hidden && document.getElementById("progress").value > 0, {timeout: PATIENCE_MS});
    check("progress of a long search", /%|Searching/.test(await textOf(tab, "#said")), await textOf(tab, "#said"));
    await tab.click("#cancel");
    await answered(tab);
    check("a search that was cancelled", await textOf(tab, "#said") === "Cancelled", await textOf(tab, "#said"));
    check("no earlier answer that looks current", await tab.$eval("#result", (result) => result.classList.contains("stale")));
    await fill(tab, "refine", "none");
    check("an answer after a cancelled one", /Train llama-3.1-70b/.test(await sentence(tab)), await sentence(tab));
    await tab.close();
}

const size = gzipSync(readFileSync(page), {level: 9}).length;
console.log(`the page has ${(readFileSync(page).length / 1e6).toFixed(2)} MB, compressed ${(size / 1e6).toFixed(2)} MB`);
check("a page of at most 6 MB compressed by gzip", size <= 6e6, size);

const browser = await puppeteer.launch({executablePath: chromium, headless: true,
                                        args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]});
const tab = await open(browser, "#q=train&model=llama-3.1-70b");
await firstAnswer(tab);
await fitsScreens(tab, "train");
await picture(tab, "planner.png", 1200, 720, "light");
await picture(tab, "planner-phone.png", 360, 740, "light");
await picture(tab, "planner-dark.png", 1200, 720, "dark");
await isAccessible(tab, "train");
await answersAreNative(tab);
await downloadsAreNative(tab);
await explains(tab);
await compares(tab);
await linkReproduces(browser, tab);
await readsFiles(tab);
await refuses(tab);
await tab.close();
for (const kind of ["tune", "serve", "rl", "capacity"]) {
    const other = await open(browser, `#q=${kind}`);
    check(`an answer of ${kind}`, await other.evaluate(() => document.documentElement.dataset.answer) === "done", await textOf(other, "#problem"));
    await fitsScreens(other, kind);
    if (kind === "rl")
        await rlLaunches(other);
    await isAccessible(other, kind, [kind === "capacity" ? "dark" : "light"]);
    await other.close();
}
const keys = await open(browser, "#q=train&model=llama-3.1-8b&gpus=8&gbs=64");
await kindsByKeyboard(keys);
await keys.close();
await cancels(browser);
check("nothing on the console", said.length === 0, said);
check("no request but for the page", asked.every((url) => url.startsWith(address) || url.startsWith("blob:") || url === "data:,"), asked.filter((url) => !url.startsWith(address)));
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
