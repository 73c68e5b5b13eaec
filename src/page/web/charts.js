/*! Charts are drawn by Vega and Vega-Lite, Copyright (c) 2013-2025 University of Washington
 * Interactive Data Lab and the Vega project, BSD-3-Clause, which use D3, Copyright 2010-2023 Mike
 * Bostock, ISC; their texts: https://github.com/vega/vega/blob/main/LICENSE,
 * https://github.com/vega/vega-lite/blob/main/LICENSE, https://github.com/d3/d3/blob/main/LICENSE */
/* charts.js - draws charts above tables
 *
 * A figure element has the name of its chart, and the chart has the names of the columns that it
 * draws. Text and lines have the colours of the page, so that a chart need not be drawn again for
 * the dark theme or for paper. Nothing is fetched, and no code is evaluated: expressions run in
 * Vega's interpreter.
 */
import * as vega from "vega";
import {expressionInterpreter} from "vega-interpreter";
import {compile} from "vega-lite";

const DAY = 86400, GIB = 2 ** 30;

/* Width of a chart that is best as wide as high, on a screen that may be narrower. */
const square = (most) => Math.max(180, Math.min(most, document.documentElement.clientWidth - 150));

// ---- parts of charts

const quantity = (field, title, more) => ({field, type: "quantitative", title, ...more});
const named = (field, title, more) => ({field, type: "nominal", title, ...more});
const ordered = (field, title, more) => ({field, type: "ordinal", title, ...more});
const tip = (field, title, format) =>
    format ? {field, title, type: "quantitative", format} : {field, title, type: "nominal"};
const calculate = (as, expression) => ({calculate: expression, as});
const atZero = {scale: {zero: true}};
const within = {scale: {zero: false, padding: 8}};
const gpus = quantity("gpus", "GPUs", {scale: {type: "log", base: 2, nice: false, padding: 12},
                                       axis: {format: "d", tickCount: 8}});
const rule = (value, colour) => ({
    data: {values: [{at: value}]},
    mark: {type: "rule", strokeDash: [5, 4], color: colour || "currentColor", opacity: 0.8},
    encoding: {y: quantity("at")},
});

/* Draws one line per cluster over the number of GPUs. */
function overGpus(y, tips, more) {
    return {
        layer: [
            ...(more || []),
            {
                mark: {type: "line", point: {size: 60, filled: true}},
                encoding: {x: gpus, y, color: named("cluster", "cluster"),
                           tooltip: [tip("cluster", "cluster"), tip("gpus", "GPUs", "d"), ...tips]},
            },
        ],
    };
}

/* Draws a line for a bound that all rows share; nothing if there is no bound. */
const bound = (rows, field, side) => rows.length > 0 && rows[0][field] ? [{
    data: {values: [{at: rows[0][field] * 1000}]},
    mark: {type: "rule", strokeDash: [5, 4], color: "#e45756", opacity: 0.8},
    encoding: {[side]: quantity("at")},
}] : [];

/* Draws latencies of a deployment over the rate of requests, and their bound. */
function overRate(rows, fields, boundField, title, names) {
    const x = quantity("rate", "requests/s", atZero);
    const y = quantity("ms", title, {scale: {type: "log", padding: 12}, axis: {format: "~g"}});
    return {
        transform: [{fold: fields, as: ["field", "seconds"]}, calculate("ms", "datum.seconds * 1000"),
                    calculate("figure", fields.length > 1 ? `datum.field == '${fields[0]}' ? '${names[fields[0]]}' : '${names[fields[1]]}'`
                                                          : `'${names[fields[0]]}'`)],
        layer: [
            ...bound(rows, boundField, "y"),
            {mark: {type: "line", point: {filled: true, size: 60}},
             encoding: {x, y, color: named("figure", null, {sort: null}),
                        tooltip: [tip("figure", "statistic"), tip("rate", "requests/s", ".4~g"), tip("load", "share of maximum rate", ".0%"),
                                  tip("ms", "ms", ".4~g"), tip("running", "running", ".4~g"), tip("out_tok_s", "tokens/s", ".3~s")]}},
        ],
    };
}

// ---- charts: functions of the rows of a table

const charts = {
    /* Gain of the first plan from 10 % more of each resource. */
    terms: () => ({
        mark: {type: "bar"},
        height: {step: 24},
        encoding: {
            y: ordered("rank", "plan"),
            x: quantity("seconds", "step time, s"),
            color: named("term", "term", {sort: null, scale: {scheme: "tableau20"}}),
            order: {field: "order", type: "quantitative"},
            tooltip: [tip("rank", "plan"), tip("term", "term"), tip("seconds", "seconds", ".4~g"),
                      tip("share", "share of step", ".1%")],
        },
    }),

    front: () => ({
        transform: [calculate("gib", "datum.memory_bytes / " + GIB)],
        layer: [
            {mark: {type: "line", interpolate: "step-after", opacity: 0.5},
             encoding: {x: quantity("step_s", "step time, s", within), y: quantity("gib", "memory of the fullest GPU, GiB", within),
                        order: {field: "step_s", type: "quantitative"}}},
            {mark: {type: "point", filled: true, size: 70, opacity: 1},
             encoding: {x: quantity("step_s", "step time, s", within), y: quantity("gib", "memory of the fullest GPU, GiB", within),
                        tooltip: [tip("plan", "plan"), tip("step_s", "step time, s", ".4~g"), tip("gib", "GiB", ".1f")]}},
        ],
    }),

    stages: (rows) => ({
        transform: [calculate("gib", "datum.memory_bytes / " + GIB),
                    calculate("room", "datum.capacity_bytes / " + GIB)],
        layer: [
            {mark: {type: "bar"},
             encoding: {x: ordered("stage", "stage", {axis: {labelAngle: 0}}), y: quantity("gib", "peak memory, GiB", atZero),
                        color: {value: "#4c78a8"},
                        tooltip: [tip("stage", "stage"), tip("layers", "layers"), tip("gib", "GiB", ".1f"),
                                  tip("recompute", "recompute")]}},
            {mark: {type: "tick", thickness: 2, color: "#e45756"},
             encoding: {x: ordered("stage"), y: quantity("room"), tooltip: [tip("room", "limit for plans, GiB", ".1f")]}},
        ],
        width: Math.min(720, Math.max(160, 40 * rows.length)),
    }),

    parts: () => ({
        transform: [calculate("gib", "datum.bytes / " + GIB)],
        mark: {type: "bar"},
        height: {step: 24},
        encoding: {y: named("part", null, {sort: null}), x: quantity("gib", "memory of the fullest GPU, GiB"),
                   color: {value: "#4c78a8"},
                   tooltip: [tip("part", "part"), tip("gib", "GiB", ".2f"), tip("what", "meaning")]},
    }),

    traffic: (rows) => ({
        mark: {type: "rect"},
        width: square(420),
        height: square(420),
        encoding: {
            x: ordered("to", "to " + (rows[0] || {}).of, {axis: {labelAngle: 0, labelOverlap: true}}),
            y: ordered("from", "from " + (rows[0] || {}).of, {axis: {labelOverlap: true}}),
            color: quantity("bytes", "bytes per step", {scale: {type: "log", scheme: "viridis"}, legend: {format: ".2~s"}}),
            tooltip: [tip("from", "from"), tip("to", "to"), tip("bytes", "bytes per step", ".3~s"), tip("axes", "groups")],
        },
    }),

    placement: (rows) => ({
        mark: {type: "rect", stroke: "#00000055"},
        width: square(420),
        height: {step: Math.max(8, Math.min(24, 480 / (1 + new Set(rows.map((row) => row.node)).size)))},
        encoding: {
            x: ordered("gpu", "GPU of the node", {axis: {labelAngle: 0}}),
            y: ordered("node", "node", {axis: {labelOverlap: true}}),
            color: ordered("stage", "stage", {scale: {scheme: "viridis"}}),
            tooltip: [tip("rank", "rank"), tip("node", "node"), tip("stage", "stage"), tip("dp", "dp"),
                      tip("cp", "cp"), tip("tp", "tp")],
        },
    }),

    sensitivity: () => ({
        mark: {type: "bar"},
        height: {step: 24},
        encoding: {y: named("resource", null, {sort: "-x"}), x: quantity("gain", "step time saved by 10 % more", {axis: {format: ".1%"}}),
                   color: {value: "#4c78a8"}, tooltip: [tip("resource", "resource"), tip("gain", "saved", ".2%")]},
    }),

    /* Days of a run with their band, and the deadline. */
    days: (rows) => ({
        transform: [calculate("days", "datum.wall_s / " + DAY), calculate("low", "datum.wall_low_s / " + DAY),
                    calculate("high", "datum.wall_high_s / " + DAY)],
        ...overGpus(quantity("days", "days", {scale: {type: "log"}}), [tip("days", "days", ".1f"), tip("low", "from", ".1f"), tip("high", "to", ".1f")], [
            {mark: {type: "area", opacity: 0.2},
             encoding: {x: gpus, y: quantity("low", "days", {scale: {type: "log"}}), y2: {field: "high"}, color: named("cluster", "cluster")}},
            ...(rows.length > 0 && rows[0].deadline_s ? [rule(rows[0].deadline_s / DAY, "#e45756")] : []),
        ]),
    }),

    cost: (rows) => overGpus(quantity("usd", "US dollars", {...atZero, axis: {format: "~s"}}), [tip("usd", "USD", ".3~s")],
                             rows.length > 0 && rows[0].budget_usd ? [rule(rows[0].budget_usd, "#e45756")] : []),

    pareto: () => ({
        transform: [calculate("days", "datum.wall_s / " + DAY)],
        mark: {type: "point", filled: true, size: 90, opacity: 1},
        encoding: {
            x: quantity("usd", "US dollars", {...within, axis: {format: "~s"}}),
            y: quantity("days", "days", {scale: {type: "log", padding: 12}}),
            color: named("cluster", "cluster"),
            shape: named("front", "Pareto-optimal"),
            tooltip: [tip("cluster", "cluster"), tip("gpus", "GPUs", "d"), tip("days", "days", ".1f"),
                      tip("usd", "USD", ".3~s"), tip("front", "Pareto-optimal")],
        },
    }),

    goodput: () => overGpus(quantity("effective", "share of time in useful work", {...within, axis: {format: ".0%"}}),
                            [tip("effective", "goodput", ".1%")]),

    scaling: () => overGpus(quantity("scaling", "tokens per GPU, relative to the fewest GPUs", {...atZero, axis: {format: ".0%"}}),
                            [tip("scaling", "scaling", ".1%"), tip("tokens_per_s", "tokens/s", ".3~s")]),

    tornado: () => ({
        transform: [{fold: ["days_less", "days_more"], as: ["side", "change"]},
                    calculate("tenth", "datum.side == 'days_less' ? '10 % lower' : '10 % higher'"),
                    {filter: "isValid(datum.change)"}],
        mark: {type: "bar"},
        height: {step: 24},
        encoding: {y: named("what", null, {sort: null}), x: quantity("change", "change of days", {stack: false, axis: {format: "+.0%"}}),
                   color: named("tenth", "input"),
                   tooltip: [tip("what", "input"), tip("tenth", "input is"), tip("change", "days", "+.1%")]},
    }),

    /* Stacked parts of the decoding step of each deployment. */
    steps: () => ({
        mark: {type: "bar"},
        height: {step: 24},
        transform: [calculate("ms", "datum.seconds * 1000")],
        encoding: {
            y: ordered("rank", "deployment"),
            x: quantity("ms", "decode step time, ms"),
            color: named("term", "part", {sort: null, scale: {scheme: "tableau20"}}),
            order: {field: "order", type: "quantitative"},
            tooltip: [tip("rank", "deployment"), tip("term", "part"), tip("ms", "ms", ".4~g"),
                      tip("share", "share of step", ".1%")],
        },
    }),

    serve_front: (rows) => {
        const x = quantity("ms", "time per output token (TPOT), ms", {scale: {type: "log", nice: false, padding: 8}, axis: {format: "~g"}});
        const y = quantity("out_tok_s_gpu", "output tokens/s per GPU", atZero);
        return {
            transform: [calculate("ms", "datum.tpot_s * 1000")],
            layer: [
                {mark: {type: "line", interpolate: "step-after", opacity: 0.5},
                 encoding: {x, y, order: {field: "ms", type: "quantitative"}}},
                ...bound(rows, "tpot_bound_s", "x"),
                {mark: {type: "point", filled: true, size: 70, opacity: 1},
                 encoding: {x, y, color: named("engine", "engine"),
                            tooltip: [tip("engine", "engine"), tip("workers", "worker"), tip("weights", "weights"),
                                      tip("ms", "TPOT, ms", ".3~g"), tip("out_tok_s_gpu", "tokens/s per GPU", ".4~g"),
                                      tip("concurrency", "in flight", "d"), tip("binds", "bound by")]}},
            ],
        };
    },

    serve_ttft: (rows) => overRate(rows, ["ttft_s", "ttft_p99_s"], "ttft_bound_s", "time to the first token (TTFT), ms",
                                   {ttft_s: "mean", ttft_p99_s: "p99"}),

    serve_tpot: (rows) => overRate(rows, ["tpot_s"], "tpot_bound_s", "time per output token (TPOT), ms", {tpot_s: "mean"}),

    /* Nodes in each hour, with spare nodes on top. */
    fleet_nodes: () => ({
        transform: [{fold: ["nodes", "spare_nodes"], as: ["part", "count"]},
                    calculate("kind", "datum.part == 'nodes' ? 'needed' : 'spare'"),
                    calculate("order", "datum.part == 'nodes' ? 0 : 1")],
        mark: {type: "bar"},
        encoding: {
            x: ordered("hour", "hour", {axis: {labelAngle: 0}}),
            y: quantity("count", "nodes", {...atZero, axis: {format: "d", tickMinStep: 1}}),
            color: named("kind", null, {sort: ["needed", "spare"]}),
            order: {field: "order", type: "quantitative"},
            tooltip: [tip("hour", "hour", "d"), tip("rate", "requests/s", ".4~g"), tip("kind", "kind"),
                      tip("count", "nodes", "d"), tip("workers", "workers")],
        },
    }),

    fleet_used: () => ({
        transform: [{fold: ["used_reserved", "used_elastic"], as: ["mode", "used"]},
                    calculate("paid", "datum.mode == 'used_reserved' ? 'reserved' : 'elastic'")],
        mark: {type: "line", point: {filled: true, size: 50}},
        encoding: {
            x: ordered("hour", "hour", {axis: {labelAngle: 0}}),
            y: quantity("used", "share of sustained rate", {...atZero, axis: {format: ".0%"}}),
            color: named("paid", "nodes"),
            tooltip: [tip("hour", "hour", "d"), tip("paid", "nodes"), tip("used", "used", ".0%")],
        },
    }),

    /* Measured over predicted step times, and the line on which both are equal. */
    accuracy: (rows) => {
        const at = rows.flatMap((row) => [row.measured_s, row.predicted_s]);
        const ends = [Math.min(...at), Math.max(...at)];
        const log = {scale: {type: "log", nice: false, padding: 8}, axis: {format: "~g", tickCount: 8}};
        return {
            width: square(520),
            height: 420,
            layer: [
                {data: {values: ends.map((end) => ({x: end, y: end}))}, mark: {type: "line", opacity: 0.6, color: "currentColor"},
                 encoding: {x: quantity("x", "measured step time, s", log), y: quantity("y", "predicted step time, s", log)}},
                {mark: {type: "point", filled: true, size: 26, opacity: 0.75},
                 encoding: {x: quantity("measured_s", "measured step time, s", log), y: quantity("predicted_s", "predicted step time, s", log),
                            color: named("source", "source", {scale: {scheme: "tableau20"}, legend: {columns: 2, symbolLimit: 60}}),
                            tooltip: [tip("id", "run"), tip("source", "source"), tip("measured_s", "measured, s", ".3~g"),
                                      tip("predicted_s", "predicted, s", ".3~g"), tip("error", "error", "+.1%")]}},
            ],
        };
    },

    sources: () => ({
        transform: [{filter: "datum.source != 'all'"}],
        mark: {type: "bar"},
        height: {step: 18},
        encoding: {y: named("source", null, {sort: "x"}), x: quantity("mape", "mean error of the step time", {axis: {format: ".0%"}}),
                   color: {value: "#4c78a8"},
                   tooltip: [tip("source", "source"), tip("rows", "rows", "d"), tip("mape", "mean error", ".1%"),
                             tip("median", "median", ".1%"), tip("bias", "bias", "+.1%")]},
    }),

    replay: () => ({
        mark: {type: "line", point: {filled: true, size: 60}},
        encoding: {x: quantity("tries", "plans tried", {axis: {values: [1, 2, 3, 5], format: "d"}}),
                   y: quantity("regret", "regret", {scale: {type: "symlog", constant: 0.01}, axis: {format: ".1%", values: [0, 0.01, 0.03, 0.1, 0.3, 1]}}),
                   color: named("how", "choice of plans", {sort: null}),
                   tooltip: [tip("how", "choice of plans"), tip("tries", "plans tried", "d"), tip("regret", "regret", ".2%")]},
    }),
};

// ---- drawing

const config = {
    background: null,
    font: "system-ui, sans-serif",
    axis: {labelColor: "currentColor", titleColor: "currentColor", domainColor: "currentColor",
           tickColor: "currentColor", gridColor: "currentColor", gridOpacity: 0.15, titleFontWeight: "normal"},
    legend: {labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal", labelLimit: 240,
             symbolBaseFillColor: "currentColor", symbolBaseStrokeColor: "currentColor"},
    view: {stroke: null},
    range: {category: ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#bab0ac"]},
};

const nothing = {load: () => Promise.reject(new Error("pages fetch nothing")),
                 sanitize: () => Promise.reject(new Error("pages link nothing"))};

/* Shows a box beside the pointer. It has text only, so that no text of a file is read as markup. */
function tipHandler() {
    const box = document.getElementById("tip") || document.createElement("div");
    box.id = "tip";
    box.hidden = true;
    document.body.append(box);
    return (handler, event, item, value) => {
        box.hidden = value === null || value === undefined || value === "";
        if (box.hidden)
            return;
        box.textContent = typeof value === "object"
            ? Object.entries(value).map(([key, text]) => key + ": " + text).join("\n") : String(value);
        box.style.left = Math.min(event.clientX + 12, innerWidth - box.offsetWidth - 8) + "px";
        box.style.top = Math.min(event.clientY + 12, innerHeight - box.offsetHeight - 8) + "px";
    };
}

function rowsOf(table) {
    return table.rows.map((cells) => Object.fromEntries(table.columns.map((column, c) => [column.key, cells[c]])));
}

async function draw(figure, table, showTip) {
    const rows = rowsOf(table);
    const plot = figure.querySelector(".plot");
    const spec = {
        $schema: "https://vega.github.io/schema/vega-lite/v6.json",
        width: "container",
        height: Math.max(280, Math.min(520, document.documentElement.clientWidth / 7)),
        data: {values: rows},
        config,
        ...charts[figure.dataset.chart](rows),
    };
    plot.hidden = false; // the chart is as wide as its element
    const view = new vega.View(vega.parse(compile(spec, {logger: vega.logger(vega.Error)}).spec, null, {ast: true}), {
        expr: expressionInterpreter,
        loader: nothing,
        renderer: "svg",
        container: plot,
        hover: true,
        tooltip: showTip,
        logLevel: vega.Error,
        description: figure.querySelector("figcaption").textContent,
    });
    await view.runAsync();
    const details = figure.querySelector("details");
    if (details)
        details.open = false;
}

/* Draws the charts of a part of the document that have data and are not drawn yet. */
async function drawAll(root, tables) {
    const showTip = tipHandler();

    for (const figure of root.querySelectorAll("figure[data-chart]")) {
        const table = tables[figure.dataset.table];
        if (table && table.rows.length > 0 && figure.querySelector(".plot").hidden)
            await draw(figure, table, showTip);
    }
    document.documentElement.dataset.charts = "drawn";
}

globalThis.plaitPage.draw = drawAll;
const data = document.getElementById("data");
if (data)
    drawAll(document, JSON.parse(data.textContent).tables);
