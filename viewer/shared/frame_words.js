/** Frames and labels in words: the function first, then its place; names of C++ cut to what tells them apart. */

/** "MulBackward0" of "torch::autograd::generated::MulBackward0::apply(...)", "" for all others. */
export function backwardStep(name) {
  if (!name.startsWith("torch::autograd::")) return "";
  const end = name.split("(", 1)[0].lastIndexOf("::apply");
  if (end < 0 || name[end + 7] !== "(") return "";
  return name.slice(name.lastIndexOf("::", end - 1) + 2, end);
}

/* The name of a C++ function without arguments, template arguments and what it returns. */
function shortNativeName(name) {
  let short = "";
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (depth === 0 && name.startsWith("(anonymous namespace)::", i)) i += 22;
    else if (depth === 0 && c === "(" && short !== "") break;
    else if (c === "<") depth += 1;
    else if (c === ">" && depth > 0) depth -= 1;
    else if (depth === 0 && c === " ") short = "";
    else if (depth === 0) short += c;
  }
  return short === "" ? name : short;
}

/**
 * What a group is called, with the name of a C++ function cut as in a graph: "backward pass,
 * AddmmBackward0".
 */
export function callLabel(label) {
  if (label.includes(".py:") || !/^[\w~<(][^/]*::/.test(label)) return label;
  const frame = { function: label, file: "", line: null, kind: "native" };
  const words = frameWords({ kind: "native", frame });
  return words.place === "" ? words.main : `${words.place}, ${words.main}`;
}

export function baseName(path) {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** {main, place}: the function, and where it stands. */
export function frameWords(node) {
  const frame = node.frame;
  if (node.kind === "root") return { main: "all", place: "" };
  if (node.kind === "unknown") return { main: "no stack recorded", place: "" };
  if (node.kind === "rest") return { main: "smaller calls", place: "not asked for" };
  if (frame.line === null) {
    const step = backwardStep(frame.function ?? "");
    if (step !== "") return { main: step, place: "backward pass" };
    const main = frame.function ? shortNativeName(frame.function) : baseName(frame.file ?? "??");
    return { main, place: "" };
  }
  const place = `${baseName(frame.file ?? "??")}:${frame.line}`;
  return frame.function ? { main: frame.function, place } : { main: place, place: "" };
}

/** A label of a group: as it is, unless it is a C++ name. */
export function shortLabel(label) {
  return label?.includes("::") ? callLabel(label) : label;
}
