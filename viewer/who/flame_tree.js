/**
 * The call tree of a reply ("tree"), folded to what a person wants to follow, and turned round on request.
 *
 * A node is {frame, kind, parent, children (biggest first), bytes, count, selfBytes, selfCount, depth, path};
 * `frame` has function, file and line; `path` is a short text that equal call paths share at every moment,
 * for the address bar. Invariant: bytes = selfBytes + the bytes of the children; count likewise.
 *
 * Nothing is lost: what the reply left out (its `top`) hangs below its caller as a node of kind "rest", and
 * what was recorded without a telling frame is a node of kind "unknown".
 */

import { backwardStep } from "../shared/frame_words.js";

/**
 * What a frame says of its owner: "user", "library", "backward" (a step of autograd), "native" or "noise".
 */
function flameFrameKind(frame) {
  if (frame.kind === "noise") return "noise";
  if (frame.line === null) return backwardStep(frame.function ?? "") !== "" ? "backward" : "native";
  return frame.kind === "user" ? "user" : "library";
}

const FRAME_TELLING = { noise: 0, unknown: 0, rest: 0, native: 1, backward: 2, library: 3, user: 3 };

function flameHash(hash, text) {
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

function newFlameNode(parent, frame, kind) {
  return { frame, kind, parent, children: [], bytes: 0, count: 0, selfBytes: 0, selfCount: 0,
    depth: parent === null ? 0 : parent.depth + 1, path: 0, byName: null };
}

/* The call of `frame` by `parent`: the node that there is, or a new one. `name` is the number of the
 * frame. */
function enterFlameCall(parent, frame, kind, name) {
  parent.byName ??= new Map();
  let node = parent.byName.get(name.number);
  if (node === undefined) {
    node = newFlameNode(parent, frame, kind);
    node.path = (Math.imul(parent.path ^ name.hash, 0x9e3779b1) ^ (parent.path >>> 15)) >>> 0;
    parent.byName.set(name.number, node);
    parent.children.push(node);
  }
  return node;
}

const NAME_UNKNOWN = { number: -1, hash: 0x51ed270b };
const NAME_REST = { number: -2, hash: 0x2545f491 };

/* Equal frames get one {number, hash}: comparing numbers is what makes the tree quick. */
function nameFrames(nodes) {
  const known = new Map();
  return nodes.map((frame) => {
    const text = `${frame.function ?? ""}\n${frame.file ?? ""}\n${frame.line ?? ""}`;
    let name = known.get(text);
    if (name === undefined) {
      name = { number: known.size, hash: flameHash(2166136261, text) };
      known.set(text, name);
    }
    return name;
  });
}

/* From a node of the reply to its root, which is left out. */
function replyPath(nodes, leaf) {
  const path = [];
  for (let at = leaf; at !== 0 && at !== null; at = nodes[at].parent) path.push(at);
  return path;
}

/* The innermost of the frames that say most; path.length if none says anything. */
function mostTellingFrame(path, kinds) {
  let best = path.length;
  let most = 0;
  for (let i = 0; i < path.length && most < 3; i++) {
    const telling = FRAME_TELLING[kinds[path[i]]];
    if (telling <= most) continue;
    best = i;
    most = telling;
  }
  return best;
}

/* The frames to show, innermost first. "calls": the user's own, and below each the place in a package that
 * allocated; "python": all of Python; "all": everything. */
function shownFrames(path, kinds, frames) {
  if (frames === "all") return path;
  const end = mostTellingFrame(path, kinds);
  const shown = [];
  for (let i = 0; i < path.length; i++) {
    const kind = kinds[path[i]];
    if (i === end || kind === "user" || (frames === "python" && kind === "library")) shown.push(path[i]);
  }
  return shown;
}

/* What the reply left out below each of its nodes. */
function leftOutBelow(nodes) {
  const bytes = nodes.map((node) => node.bytes - node.self_bytes);
  const count = nodes.map((node) => node.count - node.self_count);
  nodes.forEach((node, i) => {
    if (i === 0) return;
    bytes[node.parent] -= node.bytes;
    count[node.parent] -= node.count;
  });
  return { bytes, count };
}

function addUpFlame(root) {
  const order = [root];
  for (let i = 0; i < order.length; i++) for (const child of order[i].children) order.push(child);
  for (let i = order.length - 1; i >= 0; i--) {
    const node = order[i];
    node.bytes += node.selfBytes;
    node.count += node.selfCount;
    if (node.children.length > 1) node.children.sort((a, b) => b.bytes - a.bytes);
    node.byName = null;
    if (node.parent === null) continue;
    node.parent.bytes += node.bytes;
    node.parent.count += node.count;
  }
  return order.length;
}

/**
 * `options`: {frames: "calls"|"python"|"all", inverted}. Gives {root, nodeCount, missing: bytes that were
 * left out}.
 */
export function buildFlameTree(reply, options) {
  const nodes = reply.nodes;
  const kinds = nodes.map((node, i) => (i === 0 ? "root" : flameFrameKind(node)));
  const names = nameFrames(nodes);
  const missing = leftOutBelow(nodes);
  const root = newFlameNode(null, null, "root");
  const add = (leaf, bytes, count, isRest) => {
    const shown = shownFrames(replyPath(nodes, leaf), kinds, options.frames);
    if (!options.inverted) shown.reverse();
    let at = root;
    if (isRest && options.inverted) at = enterFlameCall(at, null, "rest", NAME_REST);
    if (!isRest && shown.length === 0) at = enterFlameCall(at, null, "unknown", NAME_UNKNOWN);
    for (const i of shown) at = enterFlameCall(at, nodes[i], kinds[i], names[i]);
    if (isRest && !options.inverted) at = enterFlameCall(at, null, "rest", NAME_REST);
    at.selfBytes += bytes;
    at.selfCount += count;
  };
  nodes.forEach((node, i) => {
    if (node.self_count > 0 || node.self_bytes > 0) add(i, node.self_bytes, node.self_count, false);
    if (missing.bytes[i] > 0 || missing.count[i] > 0) add(i, missing.bytes[i], missing.count[i], true);
  });
  const nodeCount = addUpFlame(root);
  return { root, nodeCount, missing: missing.bytes.reduce((sum, one) => sum + one, 0) };
}

/** The node whose path is `path`, or null. */
export function findFlamePath(root, path) {
  const order = [root];
  for (let i = 0; i < order.length; i++) {
    if (flamePathText(order[i]) === path) return order[i];
    for (const child of order[i].children) order.push(child);
  }
  return null;
}

export function flamePathText(node) {
  return node.parent === null ? "" : node.path.toString(36);
}

/**
 * Boxes as wide as their bytes: [{node, x, width, row, small}], from `focus` (row 0) down. What is narrower
 * than `least` shares one box with its equally narrow siblings: `small` is their number, and its node the
 * caller.
 */
export function layoutFlame(focus, width, least) {
  const boxes = [];
  if (focus.bytes <= 0) return boxes;
  const scale = width / focus.bytes;
  boxes.push({ node: focus, x: 0, width, row: 0, small: 0, bytes: focus.bytes, count: focus.count });
  for (let i = 0; i < boxes.length; i++) {
    if (boxes[i].small === 0) layoutFlameCalls(boxes, boxes[i], scale, least);
  }
  return boxes;
}

function layoutFlameCalls(boxes, box, scale, least) {
  const children = box.node.children;
  let x = box.x;
  let next = 0;
  for (; next < children.length && children[next].bytes * scale >= least; next++) {
    const node = children[next];
    boxes.push({ node, x, width: node.bytes * scale, row: box.row + 1, small: 0, bytes: node.bytes,
      count: node.count });
    x += node.bytes * scale;
  }
  layoutFlameSmall(boxes, box, children.slice(next), x, scale);
}

function layoutFlameSmall(boxes, box, nodes, x, scale) {
  const bytes = nodes.reduce((sum, node) => sum + node.bytes, 0);
  if (bytes * scale < 0.5) return;
  const count = nodes.reduce((sum, node) => sum + node.count, 0);
  boxes.push({ node: nodes.length === 1 ? nodes[0] : box.node, x, width: bytes * scale, row: box.row + 1,
    small: nodes.length, bytes, count });
}
