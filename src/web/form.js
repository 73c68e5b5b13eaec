/* form.js - the fields of a question, the user's files, and a drawing of the cluster */
import {questions} from "./questions.js";

export function make(tag, properties = {}, ...inside) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(properties))
        if (key.includes("-") || key === "role" || key === "list" || key === "for")
            made.setAttribute(key, value);
        else
            made[key] = value;
    made.append(...inside.filter((part) => part !== null));
    return made;
}

/* Names of data files: names("models") are those of models/NAME.json. */
function names(data, folder) {
    return Object.keys(data).filter((path) => path.startsWith(folder + "/") && path.lastIndexOf("/") === folder.length)
        .map((path) => path.slice(folder.length + 1, -".json".length)).sort();
}

const option = (value) => Array.isArray(value) ? make("option", {value: value[0]}, value[1]) : make("option", {value}, value);

function labelled(label, control, hint, wide) {
    return make("label", {className: hint || wide ? "wide" : ""}, make("span", {}, label), control,
                hint ? make("small", {}, hint) : null);
}

/* Whether a dropped file describes a cluster; anything else is read as a model. */
export function isCluster(text) {
    try {
        const root = JSON.parse(text);
        return Array.isArray(root.levels) || Array.isArray(root.groups) || "gpus_per_node" in root;
    } catch {
        return false;
    }
}

/**
 * Fills the form for a state. `changed(key, value)` is called for each edit, `dropped(files)` for files.
 */
export function showForm(state, data, files, changed, dropped) {
    const question = questions[state.q];
    const own = state.cluster === "own";
    const all = {models: names(data, "models"), clusters: names(data, "clusters").filter((name) => name !== "README"),
                 accelerators: names(data, "clusters/accelerators")};
    const theirs = Object.entries(files).map(([name, text]) => ({name, cluster: isCluster(text)}));

    const input = (key, more) => make("input", {type: "text", name: key, value: state[key] || "", spellcheck: false, autocapitalize: "off",
                                                oninput: (event) => changed(key, event.target.value), ...more});
    const choice = (key, options) => {
        const made = make("select", {name: key, onchange: (event) => changed(key, event.target.value)}, ...options);
        made.value = state[key];
        return made;
    };
    const file = make("input", {type: "file", accept: ".json,.csv,.txt", multiple: true, className: "file",
                                "aria-label": "Choose a model or cluster file",
                                onchange: (event) => dropped(event.target.files)});
    const mine = theirs.filter((one) => one.cluster).map((one) => one.name);
    const clusters = choice("cluster", [
        ...mine.map(option), ...all.clusters.map(option), option(["own", "own nodes…"]),
    ]);
    if (clusters.value === "")
        clusters.prepend(option([state.cluster, state.cluster]));
    clusters.value = state.cluster;

    const where = make("fieldset", {className: "fields"}, make("legend", {}, "Model and cluster"),
        labelled("Model", input("model", {list: "models", type: "search"}), null, true), labelled("Cluster", clusters),
        ...(own ? [labelled("Accelerator", choice("accelerator", all.accelerators.map(option))),
                   labelled("Nodes", input("nodes", {inputMode: "numeric"})),
                   labelled("GPUs per node", input("pernode", {inputMode: "numeric"})),
                   labelled("Gbit/s per GPU", input("nic", {inputMode: "numeric", placeholder: "as usual"}))]
                : [labelled(question.gpusAsLimit ? "GPUs, at most" : "GPUs", input("gpus"))]),
        make("p", {className: "drop"}, "Or drop a config.json of Hugging Face, a model or a cluster anywhere here. ", file),
        make("datalist", {id: "models"}, ...theirs.filter((one) => !one.cluster).map((one) => option(one.name)), ...all.models.map(option)));

    const job = make("fieldset", {className: "fields"}, make("legend", {}, "Job"),
        ...question.fields.filter((field) => !field.when || field.when(state)).map((field) => labelled(field.label,
            field.options ? choice(field.key, field.options.map(option)) : input(field.key, field.list ? {list: field.list} : {}), field.hint)));
    document.getElementById("fields").replaceChildren(where, job);
}

export function showKinds(q, chosen) {
    document.getElementById("kinds").replaceChildren(...Object.entries(questions).map(([key, question]) =>
        make("label", {}, make("input", {type: "radio", name: "q", value: key, checked: key === q, onchange: () => chosen(key)}),
             make("span", {}, question.title))));
}

// ---- the drawing: nodes as boxes with a dot for each accelerator

const SVG = "http://www.w3.org/2000/svg";
const MOST_NODES = 64;

function shape(tag, attributes, ...inside) {
    const made = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes))
        made.setAttribute(key, value);
    made.append(...inside);
    return made;
}

function parsed(text) {
    try {
        return JSON.parse(text);
    } catch {
        return {};
    }
}

/* Accelerator, accelerators per node and their number; null if the cluster is unknown. */
function sizeOf(state, data, files) {
    if (state.cluster === "own")
        return {name: state.accelerator, each: Number(state.pernode), gpus: Number(state.nodes) * Number(state.pernode)};
    const text = files[state.cluster] ?? data[`clusters/${state.cluster}.json`];
    const cluster = text === undefined ? {} : parsed(text);
    const asked = /(\d+)\D*$/.exec(state.gpus || "");
    const each = cluster.gpus_per_node;
    return {name: cluster.accelerator, each, gpus: asked ? Number(asked[1]) : (cluster.nodes || 1) * each};
}

export function drawCluster(state, data, files) {
    const place = document.getElementById("drawing");
    const {name, each, gpus} = sizeOf(state, data, files);

    if (!name || !(each >= 1 && each <= 64) || !(gpus >= 1)) {
        place.replaceChildren();
        return;
    }
    const nodes = Math.ceil(gpus / each), shown = Math.min(nodes, MOST_NODES);
    const across = each <= 4 ? each : Math.ceil(Math.sqrt(2 * each)), down = Math.ceil(each / across);
    const dot = shown <= 16 ? 8 : 5, wide = dot * across + 6, high = dot * down + 6; // pixels
    const columns = Math.min(shown, Math.max(1, Math.floor(320 / (wide + 4))));
    const drawing = shape("svg", {viewBox: `0 0 ${columns * (wide + 4)} ${Math.ceil(shown / columns) * (high + 4)}`, "aria-hidden": "true"});

    drawing.style.width = columns * (wide + 4) + "px";
    for (let node = 0; node < shown; node++) {
        const box = shape("g", {transform: `translate(${node % columns * (wide + 4)},${Math.floor(node / columns) * (high + 4)})`},
                          shape("rect", {width: wide, height: high, rx: 3}));
        for (let gpu = 0; gpu < Math.min(each, gpus - node * each); gpu++)
            box.append(shape("circle", {cx: 3 + dot * (gpu % across + 0.5), cy: 3 + dot * (Math.floor(gpu / across) + 0.5), r: 0.32 * dot}));
        drawing.append(box);
    }
    place.replaceChildren(make("figure", {}, drawing, make("figcaption", {},
        `${nodes} node${nodes === 1 ? "" : "s"} of ${each} × ${name}, ${gpus} GPUs` + (shown < nodes ? `; ${shown} are drawn` : ""))));
}
