// When a backend that failed is left alone, and for how long.

import { assertEquals } from "@std/assert";
import { createCircuit } from "../../../scim/backends/circuit.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

Deno.test("createCircuit() opens at the third failure, for half a second, then for twice as long each time", () => {
  const clock = createManualClock();
  const circuit = createCircuit(clock);
  assertEquals([circuit.dead(), circuit.dead(), circuit.waitMs(), circuit.dead()], [
    false,
    false,
    null,
    true,
  ]);
  for (const pauseMs of [500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
    assertEquals(circuit.waitMs(), pauseMs);
    clock.advance(pauseMs);
    assertEquals([circuit.waitMs(), circuit.dead()], [null, false]);
  }
});

Deno.test("createCircuit() takes calls that end together for one failure", () => {
  const clock = createManualClock();
  const circuit = createCircuit(clock);
  for (let call = 0; call < 100; call++) circuit.dead();
  assertEquals(circuit.waitMs(), 500);
});

Deno.test("createCircuit() lets one caller try after a pause, and everybody once it is alive", () => {
  const clock = createManualClock();
  const circuit = createCircuit(clock);
  for (let call = 0; call < 3; call++) circuit.dead();
  clock.advance(500);
  assertEquals([circuit.waitMs(), circuit.waitMs()], [null, 500]);
  circuit.alive();
  assertEquals(circuit.waitMs(), null);
  assertEquals([circuit.dead(), circuit.dead(), circuit.waitMs()], [false, false, null]);
});
