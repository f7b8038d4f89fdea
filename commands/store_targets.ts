// The targets of the settings without a server: opened when a command asks for one, and closed with it.

import type { Config } from "../config.ts";
import type { DataDir } from "../host/data_dir.ts";
import type { Log } from "../log.ts";
import { createPasswordHasher, REQUEST_COST } from "../password_hasher.ts";
import type { Pairings } from "../radius/doing/pairings.ts";
import type { Pairing } from "../radius/doing/pairing.ts";
import type { RecoveryCodes } from "../radius/doing/recovery_codes.ts";
import { replyGroupKey } from "../radius/doing/reply_register.ts";
import type { Clock, Random } from "../runtime.ts";
import { createIdentity, type Identity } from "../scim/identity.ts";
import type { Leaving, Target } from "../scim/ports.ts";
import { pairingDetails } from "../radius/pure/pairing_details.ts";
import { auditEntry } from "../platform/audit.ts";
import { departureMutation } from "../user_record.ts";
import { openHttpClient } from "../upstream/http_client.ts";

export interface StoreTargetsDeps {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly orderedId: () => string;
  readonly pairings: Pairings;
  readonly recoveryCodes: RecoveryCodes;
  /** Unpairs the phone of a user who left; `null` when an external service is configured. */
  readonly unpair: ((pairingId: string) => Promise<unknown>) | null;
}

export interface StoreTargets {
  readonly names: readonly string[];
  get(name: string): Promise<Target | null>;
  close(): Promise<void>;
}

/** Opens nothing yet: most commands ask for no target. */
export function createStoreTargets(deps: StoreTargetsDeps): StoreTargets {
  const { config, log, unpair } = deps;
  const names = config.targets.map(({ name }) => name);
  const client = openHttpClient();
  const unpaired: Pairing[] = [];
  let opening: Promise<Identity> | null = null;
  const open = (): Promise<Identity> => {
    const { dataDir: { store, vault }, clock, random, orderedId } = deps;
    return createIdentity({
      config,
      store,
      vault,
      clock,
      random,
      log,
      fetch: client.fetch,
      createHasher: () => createPasswordHasher({ random, cost: REQUEST_COST }),
      orderedId,
      prepareLeaving: (user) => prepareLeaving(deps, { user, unpaired }),
      prepareGroupTurn: (group) => ({
        mutations: [{ type: "delete", key: replyGroupKey(group) }],
        done: () => undefined,
        undo: () => undefined,
      }),
    });
  };
  return {
    names,
    async get(name) {
      if (!names.includes(name)) return null;
      opening ??= open();
      return (await opening).targets.get(name);
    },
    async close() {
      if (opening !== null) await (await opening).close();
      client.close();
      for (const { id } of unpaired) {
        await unpair?.(id).catch((fault: unknown) =>
          log.warn("a leaver's phone could not be unpaired", { fault: String(fault) })
        );
      }
    },
  };
}

/** The factors of a user who leaves. Conversations need nothing: the next packet of one is refused, because its user is gone. */
function prepareLeaving(
  { config, pairings, recoveryCodes, orderedId }: StoreTargetsDeps,
  { user, unpaired }: { user: string; unpaired: Pairing[] },
): Leaving {
  const taken = pairings.takeAll(user);
  const codes = recoveryCodes.takeAll(user);
  const audits = taken.pairings.map((pairing) =>
    auditEntry({
      actor: "command",
      action: "pairing.revoke",
      because: "user_left",
      object: `user:${pairing.shownUser}`,
      ...pairingDetails(pairing),
    })
  );
  return {
    mutations: [
      departureMutation({ target: config.radius.directory, user, id: orderedId() }),
      ...taken.mutations,
      ...codes.mutations,
      ...audits,
    ],
    done: () => void unpaired.push(...taken.pairings.filter(({ kind }) => kind === "device")),
    undo() {
      taken.putBack();
      codes.putBack();
    },
  };
}
