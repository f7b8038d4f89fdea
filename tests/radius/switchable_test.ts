// An object that is replaced at run time: calls and values are those of the object that is used now.

import { assertEquals } from "@std/assert";
import { createSwitchable } from "../../radius/stored_state.ts";

class Counter {
  readonly #step: number;
  #count = 0;
  readonly name: string;

  constructor(name: string, step: number) {
    this.name = name;
    this.#step = step;
  }

  get count(): number {
    return this.#count;
  }

  add(times = 1): number {
    return this.#count += this.#step * times;
  }
}

Deno.test("createSwitchable() calls and reads the object that is used now, also through a method that was kept", () => {
  const first = new Counter("first", 1);
  const { facade, use } = createSwitchable(first);
  const { add } = facade;
  assertEquals([facade.add(), add(2), facade.count, facade.name], [1, 3, 3, "first"]);
  use(new Counter("second", 10));
  assertEquals([facade.add(), add(2), facade.count, facade.name], [10, 30, 30, "second"]);
  assertEquals([first.count, Object.keys(facade)], [3, ["name", "count", "add"]]);
});
