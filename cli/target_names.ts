// The targets of the settings, for commands that name one.

import type { Config, TargetSettings } from "../platform/config/config.ts";
import { AdminRefusal } from "./admin_connection.ts";

const MAX_NAMES = 20;

/**
 * The target of that name.
 *
 * @throws AdminRefusal with the names that there are.
 */
export function checkTarget(name: string, { targets }: Pick<Config, "targets">): TargetSettings {
  const found = targets.find((target) => target.name === name);
  if (found !== undefined) return found;
  throw new AdminRefusal(
    "unknown_target",
    `There is no target ${JSON.stringify(name)}. The settings have ${namesText(targets)}.`,
  );
}

/** The names, quoted; the first of them where there are many. */
export function namesText(targets: readonly { readonly name: string }[]): string {
  const more = targets.length - MAX_NAMES;
  const shown = targets.slice(0, MAX_NAMES).map(({ name }) => JSON.stringify(name)).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}
