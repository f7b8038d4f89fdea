// Types of the hardware token API, shared with the pages and the command. Times are milliseconds since the epoch. No type has a seed.

import type { CodeAlgorithm } from "../../../radius/factors/totp.ts";
import type { CodeCheck } from "../../../radius/tokens/token_codes.ts";
import type { SeedFileForm } from "../../../radius/tokens/files/seed_csv.ts";
import type { SeedFileProblem, SeedRowProblem } from "../../../radius/tokens/files/seed_rows.ts";
import type { TokenFacts, TokenKind } from "../../../radius/tokens/token.ts";

/** `expired`: the validity period of the vendor's file is over, or has not begun. */
export type HardwareTokenState = "free" | "assigned" | "disabled" | "expired";

export interface HardwareTokenView extends TokenFacts {
  /** Identifies the token in addresses. */
  readonly id: string;
  readonly state: HardwareTokenState;
  readonly user: string | null;
  readonly assignedMs: number | null;
  readonly importedMs: number;
  readonly usedMs: number | null;
  /** How many seconds the clock of a TOTP token is ahead; 0 for HOTP. */
  readonly driftS: number;
}

export interface HardwareTokenPage {
  readonly total: number;
  readonly page: number;
  readonly size: number;
  /** All tokens, whatever the filter. */
  readonly counts: Readonly<Record<HardwareTokenState, number>>;
  readonly rows: readonly HardwareTokenView[];
}

export interface TokenCodeAnswer {
  readonly check: CodeCheck;
}

/** What can be done to several tokens at once. */
export const TOKEN_BULK_ACTIONS = ["unassign", "disable", "enable", "remove"] as const;
export type TokenBulkAction = (typeof TOKEN_BULK_ACTIONS)[number];

/** A token to which it was not done, and why. */
export interface TokenBulkFailure {
  readonly id: string;
  readonly detail: string;
}

export interface TokenBulkResult {
  readonly done: readonly string[];
  readonly failed: readonly TokenBulkFailure[];
}

/** What an import does with a row. `known`: the serial number exists. */
export const TOKEN_IMPORT_VERDICTS = ["new", "known", "refused"] as const;
export type TokenImportVerdict = (typeof TOKEN_IMPORT_VERDICTS)[number];

export interface TokenImportRow {
  readonly line: number;
  readonly serial: string;
  readonly verdict: TokenImportVerdict;
  readonly problem: SeedRowProblem | null;
  /** The problem in English; "" without one. */
  readonly detail: string;
  readonly kind: TokenKind | null;
  readonly algorithm: CodeAlgorithm | null;
  readonly digits: number;
  readonly periodS: number;
  readonly manufacturer: string;
  readonly user: string;
  /** `assigns`: the import assigns it. `none`: the file names no user, or users are not assigned. */
  readonly assignment: "none" | "assigns" | "unknown_user" | "inactive_user" | "too_many";
}

export interface TokenImportView {
  readonly id: string;
  readonly file: string;
  readonly state: "receiving" | "checking" | "checked" | "applying" | "applied";
  /** Why the file cannot be read; `null` if it can. */
  readonly problem: SeedFileProblem | "failed" | null;
  /** The problem in English; "" without one. */
  readonly detail: string;
  readonly form: SeedFileForm | null;
  readonly isSigned: boolean;
  /** Rows that were checked or imported in the current step. */
  readonly done: number;
  readonly total: number;
  readonly counts: Readonly<Record<TokenImportVerdict, number>>;
  /** Tokens that the import assigns. */
  readonly assigns: number;
  readonly imported: number;
  readonly page: number;
  readonly size: number;
  readonly matching: number;
  readonly rows: readonly TokenImportRow[];
}
