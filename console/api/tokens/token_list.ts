// The list of hardware tokens, from memory: search, filters and order.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { HardwareToken } from "../../../radius/tokens/token.ts";
import type { People } from "../deps.ts";
import type { HardwareTokenPage, HardwareTokenState, HardwareTokenView } from "./token_types.ts";

interface TokenListQuery {
  readonly q: string;
  readonly state: string;
  readonly kind: string;
  /** Only the tokens of this user. */
  readonly user: string;
  readonly page: number;
  readonly size: number;
  readonly sort: string;
}

type UsableTokens = Pick<People["hardwareTokens"], "isUsable">;

export function listTokens(
  { hardwareTokens }: Pick<People, "hardwareTokens">,
  { q, state, kind, user, page, size, sort }: TokenListQuery,
): HardwareTokenPage {
  const all = user === "" ? [...hardwareTokens.all()] : [...hardwareTokens.of(canonicalName(user))];
  const counts: Record<HardwareTokenState, number> = { free: 0, assigned: 0, disabled: 0, expired: 0 };
  for (const token of all) counts[tokenState(hardwareTokens, token)] += 1;
  const wanted = canonicalName(q.trim());
  const fitting = all
    .filter((token) =>
      (state === "" || tokenState(hardwareTokens, token) === state) && fits(token, { kind, wanted })
    )
    .sort(comparator(sort));
  const rows = fitting.slice((page - 1) * size, page * size).map((token) => tokenView(hardwareTokens, token));
  return { total: fitting.length, page, size, counts, rows };
}

/** A token as the console shows it, without its seed. */
export function tokenView(hardwareTokens: UsableTokens, token: HardwareToken): HardwareTokenView {
  const { id, record, use } = token;
  const { serial, kind, algorithm, digits, periodS, manufacturer, model } = record;
  const { assignedMs, importedMs, validFromMs, validToMs } = record;
  return {
    ...{ id, serial, kind, algorithm, digits, periodS, manufacturer, model },
    ...{ assignedMs, importedMs, validFromMs, validToMs },
    state: tokenState(hardwareTokens, token),
    user: record.shownUser,
    usedMs: use.usedMs,
    driftS: use.drift * periodS,
  };
}

function tokenState(hardwareTokens: UsableTokens, token: HardwareToken): HardwareTokenState {
  if (!token.record.isEnabled) return "disabled";
  if (!hardwareTokens.isUsable(token)) return "expired";
  return token.record.user === null ? "free" : "assigned";
}

function fits({ id, record }: HardwareToken, { kind, wanted }: { kind: string; wanted: string }): boolean {
  if (kind !== "" && record.kind !== kind) return false;
  return wanted === "" || canonicalName(id).includes(wanted) || (record.user ?? "").includes(wanted) ||
    canonicalName(`${record.manufacturer} ${record.model}`).includes(wanted);
}

/** Values to sort by. Equal values are in order of serial number; tokens without a value are last. */
const SORT_VALUES: Readonly<Record<string, (token: HardwareToken) => string | number | null>> = {
  serial: ({ id }) => id,
  user: ({ record }) => record.user,
  used: ({ use }) => use.usedMs,
  added: ({ record }) => record.importedMs,
};

/** @param sort the name of a value; `-` before it means descending. "" sorts by serial number. */
function comparator(sort: string): (a: HardwareToken, b: HardwareToken) => number {
  const valueOf = SORT_VALUES[sort.replace(/^-/, "")] ?? SORT_VALUES.serial;
  const direction = sort.startsWith("-") ? -1 : 1;
  const byId = (a: HardwareToken, b: HardwareToken) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  return (a, b) => {
    const [first, second] = [valueOf?.(a) ?? null, valueOf?.(b) ?? null];
    if (first === second) return byId(a, b);
    if (first === null) return 1;
    if (second === null) return -1;
    return first < second ? -direction : direction;
  };
}
