// The calls of the hardware token API.

import type {
  HardwareTokenPage,
  HardwareTokenState,
  HardwareTokenView,
  TokenCodeAnswer,
  TokenImportVerdict,
  TokenImportView,
} from "../../../api/tokens/token_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { FilterQuery } from "../../app/filters.ts";
import type { Tone } from "../../app/login_state_labels.ts";
import type { IconName } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";

/** The options of an import, as its form has them. */
export interface TokenImportForm {
  readonly kind: "" | "hotp" | "totp";
  readonly algorithm: "" | "SHA1" | "SHA256" | "SHA512";
  readonly digits: "" | "6" | "7" | "8";
  readonly periodS: "" | "30" | "60";
  readonly encoding: "auto" | "hex" | "base32" | "base64";
  readonly manufacturer: string;
  readonly key: string;
  readonly password: string;
  readonly assigns: boolean;
  readonly ignoreValidity: boolean;
}

const PIECE_CHARACTERS = 200_000;

/** The server validates the query. */
export function fetchHardwareTokens({ api }: Models, query: FilterQuery): Promise<HardwareTokenPage> {
  const tokens = api["hardware-tokens"];
  return take(tokens.$get({ query } as Parameters<typeof tokens.$get>[0])) as Promise<HardwareTokenPage>;
}

export function createTokenCalls({ api, session }: Models, id: string) {
  const one = api["hardware-tokens"][":id"];
  const param = escapeParams({ id });
  const ask = session.whileSignedIn;
  return {
    assign: (user: string): Promise<HardwareTokenView> =>
      ask(() => take(one.assign.$post({ param, json: { user } }))),
    unassign: (): Promise<HardwareTokenView> => ask(() => take(one.unassign.$post({ param, json: {} }))),
    enable: (enabled: boolean): Promise<HardwareTokenView> =>
      ask(() => take(one.enabled.$put({ param, json: { enabled } }))),
    resynchronize: (codes: [string, string]): Promise<HardwareTokenView> =>
      ask(() => take(one.resynchronize.$post({ param, json: { codes } }))),
    test: async (code: string): Promise<TokenCodeAnswer["check"]> =>
      (await ask(() => take(one.test.$post({ param, json: { code } })))).check,
    remove: (): Promise<HardwareTokenView> => ask(() => take(one.$delete({ param, json: {} }))),
  };
}

/** Users of the login directory whose name contains the text. */
export async function findTokenUsers(
  { api, session }: Models,
  text: string,
): Promise<readonly { readonly name: string; readonly displayName: string }[]> {
  const { rows } = await session.whileSignedIn(() =>
    take(api.users.$get({ query: { q: text, size: "20" } }))
  );
  return rows;
}

/** Uploads a file in pieces. */
export async function sendTokenFile(
  { api, session }: Models,
  { name, text }: { name: string; text: string },
): Promise<TokenImportView> {
  const { imports } = api["hardware-tokens"];
  const ask = session.whileSignedIn;
  let view: TokenImportView = await ask(() => take(imports.$post({ json: { file: name } })));
  const param = escapeParams({ id: view.id });
  for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
    const piece = text.slice(from, from + PIECE_CHARACTERS);
    view = await ask(() => take(imports[":id"].text.$post({ param, json: { text: piece } })));
  }
  return view;
}

export function createTokenImportCalls({ api, session }: Models, id: string) {
  const one = api["hardware-tokens"].imports[":id"];
  const param = escapeParams({ id });
  const ask = session.whileSignedIn;
  return {
    view: (query: { verdict: TokenImportVerdict | ""; page: string }): Promise<TokenImportView> =>
      ask(() => take(one.$get({ param, query: { ...query, size: "50" } }))),
    check: ({ kind, algorithm, digits, periodS, ...form }: TokenImportForm): Promise<TokenImportView> =>
      ask(() =>
        take(one.check.$post({
          param,
          json: {
            ...form,
            kind: kind === "" ? null : kind,
            algorithm: algorithm === "" ? null : algorithm,
            digits: digits === "" ? null : Number(digits),
            periodS: periodS === "" ? null : Number(periodS),
          },
        }))
      ),
    apply: (): Promise<TokenImportView> => ask(() => take(one.apply.$post({ param, json: {} }))),
    end: () => ask(() => take(one.$delete({ param, json: {} }))),
  };
}

// The texts of a hardware token: its type and its state.

/** "TOTP, 6 digits, 30 s"; the hash if it is not SHA-1. */
export function tokenTypeText(
  { kind, digits, periodS, algorithm }: Pick<HardwareTokenView, "kind" | "digits" | "periodS" | "algorithm">,
): string {
  const parts = [kind.toUpperCase(), t("tokens.digits_count", { count: digits })];
  if (kind === "totp") parts.push(`${periodS} s`);
  if (algorithm !== "SHA1") parts.push(algorithm);
  return parts.join(", ");
}

export function tokenStateText(state: HardwareTokenState): string {
  return t(`tokens.state_${state}`);
}

export const TOKEN_STATES: Readonly<
  Record<HardwareTokenState, { readonly tone: Tone; readonly shape: IconName }>
> = {
  free: { tone: "idle", shape: "ring" },
  assigned: { tone: "ok", shape: "check" },
  disabled: { tone: "bad", shape: "close" },
  expired: { tone: "wait", shape: "alert" },
};
