/*
 * questions.js - the questions of the page: their fields, and the command line that each one is
 *
 * A field has the flag that takes its value; an empty value and the program's default (`omitted`) leave
 * the flag out. The program checks values, so the page shows its messages rather than checks of its own.
 */
const select = (key, label, flag, value, options, more) => ({key, label, flag, value, options, ...more});
const text = (key, label, flag, value, more) => ({key, label, flag, value, ...more});

const PRECISIONS = ["bf16", "fp16", "fp8", "fp8_block", "mxfp8", "nvfp4"];
const RUNTIMES = ["megatron", "torchtitan", "fsdp", "deepspeed", "nanotron", "automodel", "maxtext", "flagscale",
                  "mindspeed", "galvatron", "megatron-deepspeed", "megatron-fsdp", "companion"];
const ENGINES = [["", "any"], "vllm", "sglang", "trtllm"];

const seq = (value) => text("seq", "Tokens per sequence", "--seq", value);
const gbs = (value) => text("gbs", "Sequences per step", "--gbs", value);
const precision = select("precision", "Precision", "--precision", "bf16", PRECISIONS, {omitted: "bf16"});
const runtime = select("runtime", "Runtime", "--runtime", "megatron", RUNTIMES, {omitted: "megatron"});
const more = (hint) => text("more", "Other options", null, "", {hint, wide: true});

export const questions = {
    train: {
        title: "Pre-train",
        command: "search",
        model: "llama-3.1-70b", gpus: "512",
        fields: [seq("8192"), gbs("1024"), precision, runtime, more("as in plait search --help: --fix tp=8 --limit pp=2..16")],
    },
    tune: {
        title: "Fine-tune",
        command: "search",
        model: "llama-3.1-8b", gpus: "8",
        fields: [
            select("job", "Method", "--job", "sft", ["sft", "lora", "qlora", "dpo", "distill", "reward"]),
            text("teacher", "Teacher", "--teacher", "llama-3.1-70b", {list: "models", when: (state) => state.job === "distill"}),
            text("rank", "LoRA rank", "--lora-rank", "32", {when: (state) => /lora/.test(state.job)}),
            seq("4096"), gbs("32"), precision, runtime, more("as in plait search --help: --lengths 900 --fix tp=2"),
        ],
    },
    serve: {
        title: "Serve",
        command: "serve",
        model: "llama-3.1-70b", gpus: "32", gpusAsLimit: true,
        fields: [
            text("input", "Prompt tokens", "--input", "2048"),
            text("output", "Answer tokens", "--output-tokens", "256"),
            text("rate", "Requests per second", "--rate", "10"),
            text("ttft", "Time to first token", "--ttft", "500ms"),
            text("tpot", "Time per output token", "--tpot", "50ms"),
            select("engine", "Engine", "--engine", "", ENGINES),
            more("as in plait serve --help: --weights fp8 --tp 4"),
        ],
    },
    rl: {
        title: "RL",
        command: "rl",
        model: "llama-3.1-8b", gpus: "32",
        fields: [
            select("algorithm", "Algorithm", "--algorithm", "grpo", ["grpo", "dapo", "ppo", "rloo"], {omitted: "grpo"}),
            text("prompts", "Prompts per step", "--prompts", "512"),
            text("generations", "Answers per prompt", "--generations", "8"),
            text("ptokens", "Prompt tokens", "--prompt-tokens", "512"),
            text("atokens", "Answer tokens: mean, limit", "--answer-tokens", "2000,8000"),
            {...runtime, options: ["megatron", "fsdp"]}, more("as in plait rl --help: --engine sglang"),
        ],
    },
    capacity: {
        title: "Capacity",
        command: "capacity",
        model: "llama-3.1-70b", gpus: "128..1024",
        fields: [
            text("tokens", "Tokens of the run", "--tokens", "2T"),
            seq("8192"), gbs("512"),
            text("others", "Also compare clusters", null, "", {hint: "names with commas: dgx-h200,dgx-b200", wide: true}),
            text("deadline", "Deadline", "--deadline", "60d"),
            text("budget", "Budget in USD", "--budget", ""),
            text("price", "USD per GPU-hour", "--price", ""),
            precision, runtime,
            select("refine", "Plans", "--refine", "none", [["none", "uniform: seconds"], ["all", "all: minutes"]]),
            more("as in plait capacity --help: --failures 0.01"),
        ],
    },
};

/* Words of a command line; quotes keep blanks. */
function words(line) {
    return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3]);
}

/* The cluster of a state: a name, a file, or ACCELERATOR:NODESxGPUS; a capacity compares several. */
function clusterOf(state) {
    const first = state.cluster !== "own" ? state.cluster
        : `${state.accelerator}:${state.nodes}x${state.pernode}` + (state.nic ? `,nic=${state.nic}` : "");
    return [first, ...(state.others || "").split(/[\s,]+/).filter(Boolean)].join(",");
}

/* The arguments that answer a state, without those that choose the form of the answer. */
export function argvOf(state) {
    const question = questions[state.q];
    const argv = [question.command, state.model, clusterOf(state)];

    for (const field of question.fields) {
        const value = (state[field.key] || "").trim();
        if (value !== "" && value !== field.omitted && field.flag && (!field.when || field.when(state)))
            argv.push(field.flag, value);
    }
    if (state.cluster !== "own" && state.gpus)
        argv.push("--gpus", (question.gpusAsLimit && /^\d+$/.test(state.gpus) ? ".." : "") + state.gpus);
    return [...argv, ...words(state.more || "")];
}

/* A command line to copy into a shell. */
export function lineOf(argv) {
    return "plait " + argv.map((word) => /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'").join(" ");
}

/* The state of a new question. */
export function defaultsOf(q) {
    const question = questions[q];
    return {
        q, model: question.model, cluster: "dgx-h100", gpus: question.gpus,
        accelerator: "h100-80gb-sxm", nodes: "8", pernode: "8", nic: "",
        ...Object.fromEntries(question.fields.map((field) => [field.key, field.value])),
    };
}

/* The state as the fragment of an address, with every value, so that new defaults do not change its meaning. */
export function fragmentOf(state) {
    const own = ["accelerator", "nodes", "pernode", "nic"];
    const used = Object.entries(state).filter(([key, value]) => value !== defaultsOf(state.q)[key] ||
        (value !== "" && (state.cluster === "own" ? key !== "gpus" : !own.includes(key))));
    return "#" + new URLSearchParams(used);
}

export function stateOf(fragment) {
    const given = Object.fromEntries(new URLSearchParams(fragment.replace(/^#/, "")));
    const q = Object.hasOwn(questions, given.q) ? given.q : "train";
    const state = defaultsOf(q);

    for (const key of Object.keys(state))
        if (Object.hasOwn(given, key))
            state[key] = given[key];
    state.q = q;
    return state;
}
