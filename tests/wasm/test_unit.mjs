// The C unit tests of the pure modules, compiled to WebAssembly: all of them pass here, too.
//
// VRAMSCOPE_WASM: the module of the same build, beside which unit/ has the test programs.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import assert from "node:assert/strict";
import test from "node:test";
import { runUnitProgram } from "./unit/unit_runner.mjs";
import { SKIPPED } from "./unit/skipped.mjs";

const folder = join(dirname(process.env.VRAMSCOPE_WASM), "unit");
const programs = readdirSync(folder).filter((name) => name.endsWith(".wasm")).sort();
const skipped = [];

test("there are programs", () => assert.ok(programs.length > 60, `only ${programs.length}`));

for (const program of programs) {
  test(program, () => {
    const result = runUnitProgram(new WebAssembly.Module(readFileSync(join(folder, program))));
    assert.deepEqual(result.failed, []);
    assert.ok(result.passed.length + result.skipped.length > 0, "a program without tests");
    skipped.push(...result.skipped.map((name) => `${program.replace(/\.wasm$/, "")}: ${name}`));
  });
}

test("skipped is what is listed as skipped", () => assert.deepEqual(skipped.sort(), Object.keys(SKIPPED).sort()));
