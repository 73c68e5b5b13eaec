/* main.js - the page that plans: from the fields to the answer, and what can be done with it */
import {ask, dataFiles} from "./engine.js";
import {argvOf, defaultsOf, fragmentOf, lineOf, questions, stateOf} from "./questions.js";
import {drawCluster, isCluster, make, showForm, showKinds} from "./form.js";
import {Refusal, answerOf} from "./answer.js";
import {barsOf} from "./bars.js";
import {comparison} from "./compare.js";
import {save, tar} from "./archive.js";

const $ = (id) => document.getElementById(id);
const PAUSE_MS = 400; // of typing, before a question is put
const MOST_BYTES = 1 << 24; // of a file of the user; weights are larger

let data, state = stateOf(location.hash);
let files = {};
let current = null; // the answer that is shown
let pins = [];
let running = new AbortController(), timer;

// ---- what is going on

function say(words, share) {
    $("said").textContent = words;
    $("progress").hidden = share === undefined;
    if (share === null)
        $("progress").removeAttribute("value");
    else if (share !== undefined)
        $("progress").value = share;
    $("cancel").hidden = share === undefined;
    $("answer").setAttribute("aria-busy", share !== undefined);
}

function showProblem(message) {
    $("problem").hidden = message === null;
    $("problem").textContent = message || "";
    if (message !== null) {
        $("result").classList.add("stale");
        say("");
    }
}

function openDialog(title, text) {
    $("dialog-title").textContent = title;
    $("dialog-text").textContent = text;
    if (!$("dialog").open)
        $("dialog").showModal();
}

function letterWidth() {
    const context = document.createElement("canvas").getContext("2d");
    context.font = getComputedStyle($("dialog-text")).font;
    return context.measureText("m").width;
}

/* Runs a command for a dialog, which shows what it prints from a pattern on. */
async function openOutput(title, argv, from = /^/) {
    openDialog(title, "…");
    const columns = Math.floor($("dialog-text").clientWidth / letterWidth()) - 4;
    const {out, err} = await ask(argv, {columns, files: {...current.files, "plans.json": current.json}});
    openDialog(title, out.slice(Math.max(0, out.search(from))) || err);
}

// ---- the answer

const isPlans = () => current.kind === "search";

/* Makes the first cells of a table buttons that explain their row. */
function makeRowsExplain(id, label, argv, from) {
    for (const row of document.getElementById(id)?.tBodies[0].rows || []) {
        const cell = row.cells[0], value = cell.textContent;
        cell.replaceChildren(make("button", {type: "button", className: "explain", title: label + " " + value,
                                             onclick: () => openOutput(label + " " + value, argv(value), from)}, value));
    }
}

async function show(parts, whole) {
    $("sentence").textContent = parts.sentence;
    $("figures").replaceChildren(...parts.figures);
    $("bars").replaceChildren(...barsOf(parts, current.plan));
    $("result").hidden = false;
    $("result").classList.remove("stale");
    $("sections").replaceChildren(...(parts.sections ? [parts.sections] : []));
    $("report").replaceChildren(...parts.body);
    globalThis.plaitPage.addControls(parts.tables);
    if (isPlans()) {
        makeRowsExplain("ranking", "Explain plan", (rank) => ["explain", "--plan", "plans.json:" + rank]);
        makeRowsExplain("others", "Why not", (asked) => ["explain", "--plan", "plans.json", "--why-not", asked], /^Why not/m);
    }
    document.documentElement.dataset.charts = "";
    await globalThis.plaitPage.draw?.($("report"), parts.tables);
    if (whole)
        document.documentElement.dataset.charts = "drawn";
}

async function answer() {
    running.abort();
    running = new AbortController();
    const {signal} = running;
    const began = performance.now();
    const late = setTimeout(() => {
        say("Searching", null);
        $("result").classList.add("stale");
    }, 150);
    const mine = {...files};
    let first;

    document.documentElement.dataset.answer = "";
    showProblem(null);
    try {
        const asked = {kind: questions[state.q].command, files: mine, state: {...state}, argv: argvOf(state)};
        const result = await answerOf(state, mine, {
            signal,
            onProgress: (what, share) => first === undefined && say(what[0].toUpperCase() + what.slice(1), share),
            async show(parts, whole) {
                if (signal.aborted)
                    return;
                clearTimeout(late);
                current = {...asked, parts};
                first ??= performance.now() - began;
                $("actions").inert = !whole; // until then, its buttons are those of the answer before
                say(`Answered in ${(first / 1000).toFixed(1)} s` + (whole ? "" : "; adding the front and the alternatives"));
                document.documentElement.dataset.openedMs ??= Math.round(performance.now());
                await show(parts, whole);
            },
            answered(json) {
                const doc = JSON.parse(json);
                const run = doc.plans?.find((plan) => plan.rank === doc.search?.recommended) || doc.plans?.[0];
                Object.assign(asked, {json, plan: run});
            },
        });
        Object.assign(current, result);
        clearTimeout(late);
        showActions();
        showComparison();
        document.documentElement.dataset.answer = "done";
    } catch (error) {
        clearTimeout(late);
        if (error.name === "AbortError" && signal !== running.signal)
            return; // a newer question is on its way
        if (error.name === "AbortError")
            say("Cancelled");
        else
            showProblem(error instanceof Refusal ? error.message : String(error));
        document.documentElement.dataset.answer = "failed";
    }
}

// ---- what can be done with an answer

const TARGETS = {
    search: ["megatron", "megatron-bridge", "torchtitan", "deepspeed", "accelerate", "pipelining", "companion", "flagscale", "galvatron",
             "mindspeed", "maxtext", "deepspeed-pipeline", "trl", "llama-factory", "torchtune", "ms-swift"],
    serve: ["vllm", "sglang", "trtllm", "dynamo", "llm-d"],
};

const fileName = () => `${current.state.model}-${current.state.q}`.replace(/[^\w.-]+/g, "-");

async function saveLaunch(target) {
    const argv = current.kind === "rl" ? [...current.argv, "--launch", "out/launch"]
        : ["launch", "plans.json", ...(target ? ["--target", target] : []), "-o", "out/launch"];
    const {status, err, made} = await ask(argv, {files: {...current.files, "plans.json": current.json}});
    if (status !== 0 || made.length === 0)
        openDialog("The launch folder cannot be written", err.replace(/^plait: /, ""));
    else
        save(fileName() + ".tar", tar(fileName(), made.map((file) => ({...file, path: file.path.slice("launch/".length)}))));
}

async function saveCsv() {
    const {made} = await ask(["report", "plans.json", "--no-alternatives", "-o", "out/plans.csv"],
                             {files: {...current.files, "plans.json": current.json}});
    save(fileName() + ".csv", new Blob([made[0].bytes], {type: "text/csv"}));
}

async function copy(text, button) {
    const label = button.textContent;
    try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
    } catch {
        openDialog("Copy this", text);
    }
    setTimeout(() => { button.textContent = label; }, 1500);
}

function showActions() {
    const button = (label, onclick, title = "") => make("button", {type: "button", onclick, title}, label);
    const fits = current.page !== null;
    const targets = TARGETS[current.kind]; // of rl, --framework is the target
    const launch = (target) => button("Launch folder", () => saveLaunch(target?.value), "A tar archive of the files that start the plan");
    const target = targets && make("select", {"aria-label": "Software to launch"},
                                   make("option", {value: ""}, "default"), ...targets.map((name) => make("option", {}, name)));
    const withFile = Object.keys(files).some((name) => [state.model, state.cluster].includes(name));

    $("actions").replaceChildren(...[
        button("Copy link", (event) => copy(location.href, event.target),
               withFile ? "The link has the name of your file, not the file" : "A link that puts this question again"),
        button("Pin to compare", pin),
        isPlans() && fits && button("Explain", () => openOutput("The plan to run", ["explain", "--plan", "plans.json"])),
        targets && fits && make("span", {className: "pair"}, launch(target), target),
        current.kind === "rl" && launch(),
        button("JSON", () => save(fileName() + ".json", current.json, "application/json"), "The document of --json"),
        targets && fits && button("CSV", saveCsv),
        current.page && button("Page", () => save(fileName() + ".html", current.page, "text/html"), "The page that plait report writes"),
        button("Print", () => print()),
    ].filter(Boolean));
}

// ---- comparison

function pin() {
    pins = [...pins.slice(-1), {kind: current.kind, json: current.json, parts: current.parts, line: lineOf(current.argv)}];
    showComparison();
}

function showComparison() {
    const now = {kind: current.kind, json: current.json, parts: current.parts, line: lineOf(current.argv)};
    const [a, b] = pins.length === 2 ? pins : [pins[0], now];

    comparison($("comparison"), a, b && a && (a.json !== b.json || pins.length === 2) ? b : null, () => {
        pins = [];
        showComparison();
    });
}

// ---- the question

function update() {
    drawCluster(state, data, files);
    $("command").textContent = lineOf(argvOf(state));
    document.title = `plait: ${questions[state.q].title.toLowerCase()} ${state.model}`;
}

function changed(key, value) {
    state[key] = value;
    if (key === "cluster" || key === "job") {
        refill();
        document.querySelector(`#fields [name=${key}]`).focus();
    }
    update();
    history.replaceState(null, "", fragmentOf(state));
    clearTimeout(timer);
    timer = setTimeout(answer, PAUSE_MS);
}

async function dropped(list) {
    const refused = [...list].find((file) => !/\.(json|csv|txt)$/i.test(file.name) || file.size > MOST_BYTES);
    if (refused)
        return showProblem(`${refused.name}: expected a .json, .csv or .txt file of at most 16 MiB, such as config.json`);
    for (const file of list) {
        const name = file.name.replace(/[^\p{L}\p{N}_.-]+/gu, "-").replace(/^-+/, ""), content = await file.text().catch(() => null);
        if (content === null)
            return showProblem(`${file.name}: the browser cannot read this file; choose it again`);
        files[name] = content;
        if (/\.json$/i.test(name))
            state[isCluster(content) ? "cluster" : "model"] = name;
    }
    refill();
    changed("model", state.model);
}

const refill = () => showForm(state, data, files, changed, dropped);

function chosen(q) {
    const before = defaultsOf(state.q), kept = {};
    for (const key of ["model", "cluster", "accelerator", "nodes", "pernode", "nic"])
        if (state[key] !== before[key])
            kept[key] = state[key];
    state = {...defaultsOf(q), ...kept};
    refill();
    changed("q", q);
}

function restart() {
    clearTimeout(timer);
    history.replaceState(null, "", fragmentOf(state));
    showKinds(state.q, chosen);
    refill();
    update();
    answer();
}

// Links to sections scroll; the fragment of the address is the question.
document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    const target = link && document.getElementById(link.getAttribute("href").slice(1));
    if (!target)
        return;
    event.preventDefault();
    for (let parent = target.parentElement; parent; parent = parent.parentElement)
        if (parent.tagName === "DETAILS")
            parent.open = true;
    target.scrollIntoView();
    target.setAttribute("tabindex", "-1");
    target.focus({preventScroll: true});
});
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
    event.preventDefault();
    dropped(event.dataTransfer.files);
});
addEventListener("hashchange", () => {
    state = stateOf(location.hash);
    restart();
});
$("form").addEventListener("submit", (event) => event.preventDefault());
$("cancel").addEventListener("click", () => running.abort());
$("copy").addEventListener("click", (event) => copy(lineOf(argvOf(state)), event.target));

/* For the console, and for tests: await plait.run(["search", ...]) */
globalThis.plait = {run: ask, addFiles: dropped};

dataFiles().then((read) => {
    data = read;
    restart();
}, (error) => showProblem("This browser cannot run the program: " + error.message));
