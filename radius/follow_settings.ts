// How the gateway follows changes of its settings. Most code reads the settings when it uses them. This file has the rest.

import type { Config } from "../platform/config/config.ts";
import type { AcceptAttributes } from "./factors/reply_attributes.ts";
import type { Factor } from "./flow/context.ts";
import type { ClientRegistry } from "./server/client_registry.ts";
import type { Clients } from "./server/clients.ts";

export interface SettingSource {
  readonly config: Pick<Config, "radius">;
  /** The secret for any client address, while no client and no `radius.secret` is configured. */
  readonly generatedSecret: string;
  /** Calls back after each change of `config`. Default: it does not change. */
  readonly onSettingsChange?: (listener: () => void) => void;
}

/** The shared secret for any client address. */
export function anySecretOf({ config: { radius }, generatedSecret }: SettingSource): string {
  return radius.secret === "" ? generatedSecret : radius.secret;
}

interface SettingFollowers {
  readonly clients: Pick<Clients, "replaceAny">;
  readonly register: Pick<ClientRegistry, "refresh">;
  readonly acceptAttributes: Pick<AcceptAttributes, "replaceDefaults">;
}

/** Updates what was computed from settings. */
export function followSettings(source: SettingSource, followers: SettingFollowers): void {
  const { config: { radius }, onSettingsChange } = source;
  const { clients, register, acceptAttributes } = followers;
  onSettingsChange?.(() => {
    clients.replaceAny(radius.anyClient, anySecretOf(source));
    // Clients of the console can use settings of any client.
    register.refresh(radius.anyClient);
    acceptAttributes.replaceDefaults(radius.replyDefault);
  });
}

/** The factors that are offered now. The set is the same until the setting changes. */
export function followEnabled(factors: Pick<Config["factors"], "enabled">): () => ReadonlySet<Factor> {
  let list = factors.enabled;
  let set: ReadonlySet<Factor> = new Set(list);
  return () => {
    if (list !== factors.enabled) {
      list = factors.enabled;
      set = new Set(list);
    }
    return set;
  };
}
