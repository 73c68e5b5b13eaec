/* answer.js - runs the commands of a question and turns their output into what the page shows */
import {ask} from "./engine.js";
import {argvOf, questions} from "./questions.js";

/* The program refused the question; the message is what it printed. */
export class Refusal extends Error {}

const PAGE = "out/page.html";
const text = (made, path) => {
    const file = made.find((one) => "out/" + one.path === path);
    return file ? new TextDecoder().decode(file.bytes) : null;
};

/* The parts of a page that `plait report` or `plait capacity` wrote. */
function partsOf(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    return {
        sentence: page.querySelector("header .answer").textContent,
        figures: [...page.querySelectorAll("header .figures > div")],
        sections: page.querySelector("nav ul"),
        body: [...page.querySelector("main").childNodes],
        tables: JSON.parse(page.getElementById("data").textContent).tables,
    };
}

/* Moves sections of a page to its beginning, and their links. */
function moveFirst(parts, ids) {
    for (const id of ids.reverse()) {
        const link = parts.sections.querySelector(`a[href="#${id}"]`)?.parentElement;
        const section = parts.body.find((node) => node.getAttribute?.("aria-labelledby") === id);
        if (!link || !section)
            continue;
        parts.sections.prepend(link);
        parts.body = [section, ...parts.body.filter((node) => node !== section)];
    }
    return parts;
}

function figure(title, value, note) {
    const made = document.createElement("div");
    for (const [tag, className, content] of [["dt", "", title], ["dd", "", value], ["dd", "note", note]])
        made.append(Object.assign(document.createElement(tag), {className, textContent: content}));
    return made;
}

function printed(output) {
    return Object.assign(document.createElement("pre"), {textContent: output, tabIndex: 0});
}

const GIB = 2 ** 30;
const seconds = (s) => s >= 100 ? s.toFixed(0) + " s" : s.toPrecision(3) + " s";

/* Text output whose first sentence is the answer: no plan fits, or a command without a page. */
function partsOfText(output, sentence, figures) {
    return {sentence, figures, sections: null, body: [printed(output)], tables: {}};
}

function nothingFits(output, doc) {
    const blocks = output.split(/\n\n+/).map((block) => block.trim());
    const no = blocks.findIndex((block) => /^no /i.test(block));
    const sentence = no < 0 ? "Nothing fits." : [blocks[no], .../^Closest .*/.exec(blocks[no + 1]) || []].join(" ");
    const memory = doc.closest?.memory, gpus = /^ *([\d,]+) GPUs instead of/m.exec(output);

    return partsOfText(output, sentence, memory ? [
        figure("memory of the closest plan", (memory.peak_bytes / GIB).toFixed(1) + " GiB", "on the fullest GPU"),
        figure("memory that plans may use", (memory.capacity_bytes / GIB).toFixed(1) + " GiB", "per GPU"),
        gpus ? figure("GPUs on which a plan fits", gpus[1], "with the same job")
             : figure("missing", ((memory.peak_bytes - memory.capacity_bytes) / GIB).toFixed(1) + " GiB", "per GPU"),
    ] : []);
}

function ofRl(output, doc) {
    const best = doc.plans[0];
    const run = /^run: (.*)$/m.exec(output);
    const phases = [...output.matchAll(/^ {2}(\S.*?) {2,}([\d.]+ \S+) +([\d.]+) %$/gm)]
        .map(([, name, time, share]) => ({name, value: Number(share), text: time}));
    const memory = Object.values(best.memory).map((phase) => phase.device_bytes).filter(Number.isFinite);

    return {...partsOfText(output, "Run " + (run ? run[1] : best.placement) + ".", [
        figure("step time", seconds(best.step_s), `${(100 * best.phases.rollout_s / best.step_s).toFixed(0)} % of it generates answers`),
        figure("tokens/s per GPU", best.tokens_per_s_per_gpu.toFixed(0), `${(best.tokens / 1e6).toPrecision(3)} M tokens in a step`),
        figure("memory of the fullest GPU", (Math.max(...memory) / GIB).toFixed(1) + " GiB", "in the fullest phase"),
    ]), bars: [{title: "Time of a step", parts: phases}]};
}

async function done(argv, options) {
    const answer = await ask(argv, options);
    if (answer.status > 1)
        throw new Refusal(answer.err.trim().replace(/^plait: /gm, "") || `status ${answer.status}`);
    if (argv.includes("--json") && !answer.out.startsWith("{"))
        throw new Refusal(answer.out.trim()); // the text of --help
    return answer;
}

/**
 * Answers a state. `answered(json)` is called with the document of --json, and then `show(parts, whole)` with
 * what is known so far. The promise has the argument list, that document, and the page if there is one.
 */
export async function answerOf(state, files, {signal, onProgress, answered, show}) {
    const argv = argvOf(state);
    const options = {files, signal, onProgress};
    const kind = questions[state.q].command;

    if (kind === "capacity") {
        const {out, made} = await done([...argv, "--json", "-o", PAGE], options);
        const page = text(made, PAGE);
        answered(out);
        show(moveFirst(partsOf(page), ["about-time", "about-money"]), true);
        return {argv, kind, json: out, page};
    }
    const {out} = await done([...argv, "--json"], options);
    const doc = JSON.parse(out);
    answered(out);
    if (doc.plans.length === 0) {
        show(nothingFits((await done(argv, options)).out, doc), true);
        return {argv, kind, json: out, page: null};
    }
    if (kind === "rl") {
        show(ofRl((await done(argv, options)).out, doc), true);
        return {argv, kind, json: out, page: null};
    }
    // The front and the alternatives take longer than the rest: show the answer first.
    const report = async (document, more) =>
        text((await done(["report", "plans.json", "-o", PAGE, ...more],
                         {...options, files: {...files, "plans.json": document}})).made, PAGE);
    if (kind === "search")
        show(partsOf(await report(JSON.stringify({...doc, front: []}), ["--no-alternatives"])), false);
    const page = await report(out, []);
    show(partsOf(page), true);
    return {argv, kind, json: out, page};
}
