// What `message_authenticator = "auto"` has learnt: clients that once sent a valid Message-Authenticator must send one from then on, also after a restart.

import type { Log } from "../../log.ts";
import type { Store } from "../../store.ts";
import type { Client } from "./clients.ts";

export interface Learnt {
  readonly names: ReadonlySet<string>;
  learn(client: Client): void;
  /** `false` when nothing was learnt of that client. */
  forget(name: string): Promise<boolean>;
  load(): Promise<void>;
}

export function createLearnt({ store, log }: { store: Store; log: Log }): Learnt {
  const names = new Set<string>();
  return {
    names,
    learn(client) {
      client.requiresSignature = true;
      names.add(client.name);
      log.info("client signs its requests: Message-Authenticator is required of it from now on", {
        client: client.name,
        forget: `deno task client forget ${client.name}`,
      });
      store.commit({ mutations: [{ type: "set", key: ["learnt", client.name], value: true }] })
        .catch((fault: unknown) =>
          log.error("what was learnt of a client could not be recorded", {
            client: client.name,
            fault: String(fault),
          })
        );
    },
    async forget(name) {
      const known = names.delete(name);
      await store.commit({ mutations: [{ type: "delete", key: ["learnt", name] }] });
      return known;
    },
    async load() {
      for await (const { key } of store.list<boolean>(["learnt"])) {
        if (typeof key[1] === "string") names.add(key[1]);
      }
    },
  };
}
