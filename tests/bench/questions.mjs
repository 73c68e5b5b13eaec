// questions.mjs - how long the answers to the questions of docs/guide/ten-questions.md take
//
//     node tests/bench/questions.mjs NODE_MODULES CHROMIUM PLAIT PAGE
//
// Each question of the document has the fields of the page, as part of its address, and an example of Python.
// The page is opened with its defaults and its fields are filled in. Prints the table of the document.
import {spawnSync} from "node:child_process";
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import {resolve} from "node:path";
import {pathToFileURL} from "node:url";

const [modules, chromium, plait, page] = process.argv.slice(2);
const puppeteer = createRequire(resolve(modules, "x.js"))("puppeteer-core");
const PATIENCE = {timeout: 120000, polling: 20}; // milliseconds
const PAUSE_MS = 410; // a little longer than the page waits after an edit

function questionsOf(text) {
    return text.split(/^## /m).slice(1).map((part) => ({
        title: part.split("\n")[0],
        fields: new URLSearchParams(/`#(.*?)`/.exec(part)[1]),
        button: /press `(.*?)`/.exec(part)?.[1], // of the alternatives
        python: [...part.matchAll(/^(?:>>>|\.\.\.) ?(.*)$/gm)].map((match) => match[1]).join("\n"),
    }));
}

async function fill(tab, name, value) {
    if (name === "q")
        return tab.$eval(`#kinds input[value=${value}]`, (input) => input.click());
    if (value.endsWith(".json")) {
        await (await tab.$("input[type=file]")).uploadFile(`tests/data/hf_configs/${value}`);
        return tab.waitForFunction((file) => document.querySelector("#fields [name=model]").value === file, PATIENCE, value);
    }
    const input = await tab.$(`#fields [name=${name}]`);
    if (await input.evaluate((element) => element.tagName) === "SELECT")
        return input.select(value);
    await input.evaluate((element) => element.select());
    return input.type(value);
}

/* Seconds until the answer is shown, and its first sentence. */
async function onPage(browser, {fields, button}) {
    const tab = await browser.newPage();
    const began = performance.now();
    await tab.goto(pathToFileURL(page).href, {waitUntil: "load"});
    await tab.waitForSelector("#fields [name=model]", PATIENCE);
    for (const [name, value] of fields)
        await fill(tab, name, value);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
    // The words of an earlier answer stay until the program is searching.
    await tab.evaluate(() => {
        if (document.documentElement.dataset.answer === "")
            document.getElementById("said").textContent = "";
    });
    await tab.waitForFunction(() => document.getElementById("said").textContent.startsWith("Answered"), PATIENCE);
    if (button) {
        await tab.waitForFunction((label) => {
            const found = [...document.querySelectorAll("#others button")].find((one) => one.textContent === label);
            found?.click();
            return found;
        }, PATIENCE, button);
        await tab.waitForFunction(() => document.getElementById("dialog-text").textContent.length > 9, PATIENCE);
    }
    const seconds = (performance.now() - began) / 1000;
    const answer = await tab.$eval(button ? "#dialog-text" : "#sentence", (element) => element.textContent);
    await tab.close();
    return {seconds, answer: answer.trim().replace(/\s+/g, " ")};
}

function inPython({python}) {
    const began = performance.now();
    const {status, stderr} = spawnSync("python3", ["-"], {input: `import plait\n${python}\n`, encoding: "utf8",
                                                          env: {...process.env, PYTHONPATH: "python", PLAIT: resolve(plait)}});
    if (status !== 0)
        throw new Error(stderr);
    return (performance.now() - began) / 1000;
}

/* A sentence without the smaller choices of a plan. */
const short = (answer) => answer.replace(/, mbs .*(?=: a step)/, "").replace(/;.*/, "").replace(/^Why not .*?\? /, "");

const browser = await puppeteer.launch({executablePath: chromium, headless: true,
                                        args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]});
console.log("| question | page | Python | answer |\n|---|---:|---:|---|");
for (const question of questionsOf(readFileSync("docs/guide/ten-questions.md", "utf8"))) {
    const {seconds, answer} = await onPage(browser, question);
    console.log(`| ${question.title} | ${seconds.toFixed(1)} s | ${inPython(question).toFixed(1)} s | ${short(answer)} |`);
}
await browser.close();
