// browse.mjs - pages in a headless Chromium: are they drawn, usable, accessible, and quiet
//
//     node browse.mjs NODE_MODULES CHROMIUM PICTURES|- PAGE.html...
//
// Each line that fails says what was expected; the last one counts. PICTURES is a folder for pictures.
import {createRequire} from "node:module";
import {mkdtempSync, readdirSync, readFileSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {basename, join, resolve} from "node:path";
import {pathToFileURL} from "node:url";

const [modules, chromium, pictures, ...files] = process.argv.slice(2);
const require = createRequire(resolve(modules, "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

let passed = 0, failed = 0;
function check(file, what, holds, found) {
    if (holds) {
        passed++;
        return;
    }
    failed++;
    console.log(`${basename(file)}: expected ${what}` + (found === undefined ? "" : `, found ${JSON.stringify(found)}`));
}

/* What is late on a machine that does much else is not missing. */
const PATIENCE_MS = 60000;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/* What a page may do besides being there: nothing. */
function listen(tab, said, asked) {
    tab.on("console", (message) => ["error", "warn"].includes(message.type()) && said.push(message.text()));
    tab.on("pageerror", (error) => said.push(String(error)));
    tab.on("request", (request) => asked.push(request.url()));
}

async function chartsAreDrawn(tab, file) {
    const charts = await tab.$$eval("figure[data-chart]", (figures) => figures.map((figure) => ({
        chart: figure.dataset.chart,
        marks: figure.querySelectorAll(".plot svg .mark-rect path, .plot svg .mark-symbol path, .plot svg .mark-line path").length,
        text: figure.querySelector(".plot").textContent,
        wide: (figure.querySelector(".plot svg") || {getBoundingClientRect: () => ({width: 0})}).getBoundingClientRect().width,
    })));
    check(file, "charts", charts.length > 0);
    for (const chart of charts) {
        check(file, `marks in the chart ${chart.chart}`, chart.marks > 0 && chart.wide > 100, chart);
        check(file, `no NaN in the chart ${chart.chart}`, !/NaN|undefined|null/.test(chart.text), chart.text);
    }
}

async function hoverTells(tab, file) {
    const mark = await tab.evaluateHandle(() => [...document.querySelectorAll(
        "figure[data-chart] .plot svg .mark-rect.role-mark path, figure[data-chart] .plot svg .mark-symbol.role-mark path")]
        .find((path) => path.getBoundingClientRect().width > 4));
    await mark.evaluate((path) => path.scrollIntoView({block: "center"}));
    const box = await mark.evaluate((path) => path.getBoundingClientRect().toJSON());
    await tab.mouse.move(box.x + box.width / 2 - 1, box.y + box.height / 2 - 1);
    await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await tab.waitForFunction(() => !document.getElementById("tip").hidden, {timeout: PATIENCE_MS}).catch(() => {});
    const tip = await tab.$eval("#tip", (element) => ({hidden: element.hidden, text: element.textContent}));
    check(file, "a tip under the pointer", !tip.hidden && tip.text.includes(": "), tip);
    await tab.mouse.move(1, 1);
}

const column = (tab, id, index) => tab.$$eval(`#${id} tbody tr:not([hidden]) td:nth-child(${index + 1})`,
                                              (cells) => cells.map((cell) => cell.textContent));

/* By keyboard: the head of a column sorts, first up, then down. */
async function tableSorts(tab, file, id, index) {
    const data = await tab.$eval("#data", (element) => JSON.parse(element.textContent));
    const numbers = data.tables[id].rows.map((row) => row[index]).filter((value) => value !== null);
    const order = async () => tab.$$eval(`#${id} tbody tr`, (rows) => rows.map((row) => Number(row.dataset.row)));
    const head = await tab.$(`#${id} thead th:nth-child(${index + 1}) button`);

    for (const [sort, sign] of [["ascending", 1], ["descending", -1]]) {
        await head.focus();
        await tab.keyboard.press("Enter");
        const now = (await order()).map((row) => data.tables[id].rows[row][index]).filter((value) => value !== null);
        const said = await tab.$eval(`#${id} thead th:nth-child(${index + 1})`, (cell) => cell.ariaSort);
        check(file, `${id} ${sort}`, said === sort && now.length === numbers.length &&
              now.every((value, i) => i === 0 || sign * (value - now[i - 1]) >= 0), {said, now: now.slice(0, 8)});
    }
}

async function tableFilters(tab, file, id, index) {
    const all = await column(tab, id, index);
    const input = await tab.evaluateHandle((name) => document.getElementById(name).closest(".scroll")
        .previousElementSibling.querySelector("input"), id);

    await input.type("zzz-nothing");
    check(file, `${id} filtered to nothing`, (await column(tab, id, index)).length === 0);
    await input.evaluate((element) => { element.value = ""; });
    await input.type(all[0]);
    const some = await column(tab, id, index);
    check(file, `${id} filtered to "${all[0]}"`, some.length > 0 && some.length <= all.length, some.length);
    await input.evaluate((element) => {
        element.value = "";
        element.dispatchEvent(new Event("input"));
    });
    check(file, `${id} whole again`, (await column(tab, id, index)).length === all.length);
}

async function tableDownloads(tab, file, id) {
    const folder = mkdtempSync(join(tmpdir(), "plait-page-"));
    const session = await tab.createCDPSession();
    await session.send("Browser.setDownloadBehavior", {behavior: "allow", downloadPath: folder});
    const button = await tab.evaluateHandle((name) => document.getElementById(name).closest(".scroll")
        .previousElementSibling.querySelector("button"), id);
    await button.evaluate((element) => element.click());
    for (let tries = 0; tries < PATIENCE_MS / 100 && !readdirSync(folder).includes(id + ".csv"); tries++)
        await wait(100);
    const text = readdirSync(folder).includes(id + ".csv") ? readFileSync(join(folder, id + ".csv"), "utf8") : "";
    const data = await tab.$eval("#data", (element) => JSON.parse(element.textContent));
    const lines = text.trimEnd().split("\n");
    check(file, `${id}.csv with a line a row`, lines.length === data.tables[id].rows.length + 1, lines.length);
    check(file, `${id}.csv with the keys`, lines[0] === data.tables[id].columns.map((c) => c.key).join(","), lines[0]);
    rmSync(folder, {recursive: true});
}

/* The page's policy lets nothing in; for the audit alone it is set aside. */
async function isAccessible(tab, file, scheme) {
    await tab.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => globalThis.axe.run(document, {resultTypes: ["violations"]}));
    check(file, `no violation (axe-core, ${scheme})`, found.violations.length === 0,
          found.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary]));
}

/* The first screen of a telephone and of a desktop shows the sentence and the three numbers uncut. */
async function answersFirst(tab, file) {
    for (const [width, height] of [[360, 740], [1280, 720]]) {
        await tab.setViewport({width, height});
        await tab.evaluate(() => scrollTo(0, 0));
        const boxes = await tab.$$eval("header .answer, header .figures dd:not(.note)", (parts) => parts.map((part) => {
            const box = part.getBoundingClientRect();
            return {text: part.textContent, bottom: box.bottom, right: box.right};
        }));
        check(file, `a sentence and three numbers in the first screen of ${width}`, boxes.length === 4 && boxes.every((box) =>
            box.text.length > 0 && box.bottom <= height && box.right <= width), boxes);
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
        check(file, `no page wider than ${width}`, wide <= width, wide);
    }
    check(file, "assumptions", await tab.$$eval("dl.assumptions dd", (parts) => parts.length) >= 2);
    await tab.setViewport({width: 1200, height: 900});
}

/* The first screens of the pages that the README shows. */
async function picture(tab, file) {
    const scheme = {"search.html": "light", "capacity.html": "dark", "serve.html": "light", "fleet.html": "dark"}[basename(file)];
    if (pictures === "-" || !scheme)
        return;
    await tab.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
    await tab.evaluate(() => scrollTo(0, 0));
    await tab.screenshot({path: join(pictures, basename(file, ".html") + ".png"),
                          clip: {x: 0, y: 0, width: 1200, height: 1700}});
}

async function printsWell(tab, file) {
    const pdf = await tab.pdf({format: "A4"});
    const pages = Buffer.from(pdf).toString("latin1").match(/\/Type\s*\/Page\b/g) || [];
    check(file, "pages on paper", pages.length >= 2, pages.length);
}

async function visit(browser, file) {
    const said = [], asked = [], tab = await browser.newPage();
    const url = pathToFileURL(resolve(file)).href;

    listen(tab, said, asked);
    await tab.setViewport({width: 1200, height: 900});
    await tab.goto(url, {waitUntil: "load"});
    await tab.waitForFunction(() => document.documentElement.dataset.charts === "drawn", {timeout: PATIENCE_MS})
        .catch(() => {});
    check(file, "charts within a minute", await tab.evaluate(() => document.documentElement.dataset.charts) === "drawn");
    await chartsAreDrawn(tab, file);
    await answersFirst(tab, file);
    await picture(tab, file);
    await tab.emulateMediaFeatures([]);
    await hoverTells(tab, file);
    const main = await tab.evaluate(() => {
        const tables = JSON.parse(document.getElementById("data").textContent).tables;
        const id = Object.keys(tables).find((name) => tables[name].rows.length >= 6 &&
            !document.getElementById(name).closest("details"));
        const number = tables[id].rows[0].findIndex((value, i) => typeof value === "number" && i > 0);
        return {id, number};
    });
    await tableSorts(tab, file, main.id, main.number);
    await tableFilters(tab, file, main.id, main.number);
    await tableDownloads(tab, file, main.id);
    await printsWell(tab, file);
    check(file, "nothing on the console", said.length === 0, said);
    check(file, "no request but for the page", asked.every((other) => other === url || other.startsWith("blob:")), asked);
    await isAccessible(tab, file, "light");
    await isAccessible(tab, file, "dark");
    await tab.close();
}

/* Without scripts every table is there to be read. */
async function visitWithoutScripts(browser, file) {
    const tab = await browser.newPage();
    await tab.setJavaScriptEnabled(false);
    await tab.goto(pathToFileURL(resolve(file)).href, {waitUntil: "load"});
    const session = await tab.createCDPSession();
    const {root} = await session.send("DOM.getDocument", {depth: 1});
    const {nodeIds} = await session.send("DOM.querySelectorAll", {nodeId: root.nodeId, selector: "main table"});
    let shown = 0;
    for (const nodeId of nodeIds)
        shown += await session.send("DOM.getBoxModel", {nodeId}).then(() => 1, () => 0);
    check(file, "all tables without scripts", nodeIds.length > 0 && shown === nodeIds.length, [shown, nodeIds.length]);
    await tab.close();
}

const browser = await puppeteer.launch({executablePath: chromium, headless: true,
                                        args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]});
for (const file of files) {
    await visit(browser, file);
    await visitWithoutScripts(browser, file);
}
await browser.close();
console.log(`${passed} checks passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
