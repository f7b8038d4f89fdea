// What of the settings follows from a port that the host chose: known only when the listener is there.

import type { Config, ShownSetting } from "./config.ts";
import { ownUrl } from "./addresses.ts";
import { sealed } from "./redact.ts";

/** What is told to eyes and used by the program. */
export interface ToldSettings {
  readonly config: Config;
  readonly settings: readonly ShownSetting[];
}

const KEY = "http.public_url";

/**
 * The settings once `http.listen` has the port `port`: where 0 was asked for, links name the real one unless
 * `http.public_url` says another. The same object when nothing follows.
 */
export function withChosenPort(told: ToldSettings, port: number): ToldSettings {
  const { http } = told.config;
  if (http.listen.port !== 0) return told;
  const listen = { ...http.listen, port };
  const isGiven = told.settings.some(({ key, isGiven }) => key === KEY && isGiven);
  const own = isGiven ? null : ownUrl(listen, { tls: http.tls !== null });
  const config = sealed({ ...told.config, http: { ...http, listen, publicUrl: own ?? http.publicUrl } });
  if (own === null) return { ...told, config };
  const shown = JSON.stringify(own);
  const settings = told.settings.map((row) =>
    row.key === KEY ? { ...row, value: shown, preset: shown } : row
  );
  return { config, settings };
}
