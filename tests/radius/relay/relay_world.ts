// A gateway with a first-factor server that checks relayed requests, and the phone of the user anna.

import type { FakePairing } from "../../fakes/second_factor_records.ts";
import type { RelayServer } from "../../support/relay_server.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "../rows/in_process.ts";
import { decide, giveDevice } from "../rows/people.ts";

export interface RelayWorld extends AsyncDisposable {
  readonly world: InProcess;
  readonly phone: FakePairing;
}

/** @param options.users the users of the directory; anna has a phone */
export async function openRelay(server: RelayServer, options: InProcessOptions = {}): Promise<RelayWorld> {
  const world = await startInProcess({
    users: ["anna"],
    ...options,
    toml: server.toml + (options.toml ?? ""),
  });
  return {
    world,
    phone: await giveDevice(world, "anna"),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** Decides on the phone two seconds after the next push, by the gateway's clock. */
export function decideOnPush({ world, phone }: Pick<RelayWorld, "world" | "phone">, granted: boolean): void {
  const before = world.secondFactor.initiated().length;
  const look = (): void => {
    const isSent = world.secondFactor.initiated().length > before;
    world.clock.after(isSent ? 2000 : 100, isSent ? () => decide(world, phone, granted) : look);
  };
  look();
}
