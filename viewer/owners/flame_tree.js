/**
 * The call tree of a reply ("tree"), linked for drawing. The engine folds it, names its calls and says what it
 * left out.
 *
 * A node is {name, place, kind, frame, parent, children (largest first), bytes, count, selfBytes, depth, path};
 * `frame` has function, file and line, and is null where there is none; `path` is a number that equal calls
 * share at every moment, for the address bar. Invariant: bytes = selfBytes + the bytes of the children.
 * @param {Replies.Node} row @param {FlameNode|null} parent
 * @returns {FlameNode}
 */

function flameNode(row, parent) {
  const { bytes, count, kind, name, place } = row;
  const hasFrame = row.function !== null || row.file !== null;
  return { name: name ?? "", place: place ?? "", kind, frame: hasFrame ? row : null, parent, children: [], bytes, count,
    selfBytes: row.self_bytes, depth: parent === null ? 0 : parent.depth + 1, path: row.id };
}

/**
 * {root, shown: how many calls are drawn as themselves}
 * @param {Replies.TreeReply} reply
 * @returns {FlameTree}
 */
export function buildFlameTree(reply) {
  /** @type {FlameNode[]} */
  const nodes = [];
  for (const row of reply.nodes) {
    const node = flameNode(row, row.parent === null ? null : nodes[row.parent]);
    if (node.parent === null) Object.assign(node, { kind: "root", name: "all", place: "" });
    else node.parent.children.push(node);
    nodes.push(node);
  }
  for (const { children } of nodes) {
    if (children.length > 1 && children[children.length - 1].kind === "rest") children.sort((a, b) => b.bytes - a.bytes);
  }
  return { root: nodes[0], shown: nodes.filter((node) => node.kind !== "rest").length };
}

/**
 * The node whose path is `path`, or null.
 * @param {FlameNode} root @param {string} path
 */
export function findFlamePath(root, path) {
  const order = [root];
  for (let i = 0; i < order.length; i++) {
    if (flamePathText(order[i]) === path) return order[i];
    for (const child of order[i].children) order.push(child);
  }
  return null;
}

/** @param {FlameNode} node */
export function flamePathText(node) {
  return node.parent === null ? "" : node.path.toString(36);
}

/**
 * Boxes as wide as their bytes: [{node, x, width, row, small}], from `focus` (row 0) down. What is narrower
 * than `least` shares one box with its equally narrow siblings: `small` is their number, and its node the
 * caller.
 * @param {FlameNode} focus @param {number} width @param {number} least
 * @returns {FlameBox[]}
 */
export function layoutFlame(focus, width, least) {
  /** @type {FlameBox[]} */
  const boxes = [];
  if (focus.bytes <= 0) return boxes;
  const scale = width / focus.bytes;
  boxes.push({ node: focus, x: 0, width, row: 0, small: 0, bytes: focus.bytes, count: focus.count });
  for (let i = 0; i < boxes.length; i++) {
    if (boxes[i].small === 0) layoutFlameCalls(boxes, boxes[i], scale, least);
  }
  return boxes;
}

/** @param {FlameBox[]} boxes @param {FlameBox} box @param {number} scale @param {number} least */
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

/**
 * @param {FlameBox[]} boxes @param {FlameBox} box @param {FlameNode[]} nodes @param {number} x
 * @param {number} scale
 */
function layoutFlameSmall(boxes, box, nodes, x, scale) {
  const bytes = nodes.reduce((sum, node) => sum + node.bytes, 0);
  if (bytes * scale < 0.5) return;
  const count = nodes.reduce((sum, node) => sum + node.count, 0);
  boxes.push({ node: nodes.length === 1 ? nodes[0] : box.node, x, width: bytes * scale, row: box.row + 1,
    small: nodes.length, bytes, count });
}
