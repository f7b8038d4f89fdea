// The desk's operation on clients: forget that one signs its requests, for when it is replaced by one that does not.

import { commandEntry, type DeskDeps, operation } from "./desk_operation.ts";
import { type DeskAnswer, done, refused } from "./desk_answer.ts";
import { INPUTS } from "./desk_inputs.ts";

const MOST_NAMES = 20;

export const clientOperations = {
  "client.forget": operation({ name: INPUTS.clientName }, forget),
};

async function forget(deps: DeskDeps, { name }: { name: string }): Promise<DeskAnswer> {
  const { learnt, store } = deps;
  const clients = deps.clients();
  if (!learnt.names.has(name)) {
    return clients.includes(name)
      ? done(`Nothing was learnt of client ${JSON.stringify(name)}.`)
      : refused("unknown_client", `Cannot forget it: no client has that name. ${known(clients)}`);
  }
  const audit = commandEntry({ action: "client.forget", object: `client:${name}` });
  // The record goes in the commit of its audit record; what follows brings memory, and the gate, up to that.
  await store.commit({ mutations: [...learnt.forgetting(name), audit] });
  await (deps.forgetClient ?? learnt.forget)(name);
  return done(
    `Client ${
      JSON.stringify(name)
    } may send unsigned requests again, from each address until that sends a signed one.`,
    clients.includes(name) ? {} : { notes: ["There is no client of that name."] },
  );
}

function known(clients: readonly string[]): string {
  if (clients.length === 0) return "There are no clients yet.";
  const more = clients.length - MOST_NAMES;
  const names = clients.slice(0, MOST_NAMES).map((name) => JSON.stringify(name)).join(", ");
  return `There are ${names}${more > 0 ? ` and ${more} more` : ""}.`;
}
