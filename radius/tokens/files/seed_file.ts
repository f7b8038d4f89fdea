// Reads the seed file of a vendor: PSKC (RFC 6030) or CSV. The result has the seeds; nothing here logs.

import { isXml, readPskc } from "./pskc.ts";
import { readSeedCsv, type SeedCsvForm } from "./seed_csv.ts";
import { markRepeated, type SeedFileOptions, type SeedFileProblem, type SeedRow } from "./seed_rows.ts";

export type SeedFileForm = SeedCsvForm | "pskc";

type SeedFileOutcome =
  | {
    readonly ok: true;
    readonly form: SeedFileForm;
    readonly rows: readonly SeedRow[];
    /** It has a signature, which is not checked. */
    readonly isSigned: boolean;
  }
  | { readonly ok: false; readonly problem: SeedFileProblem };

/** Larger files are imported in parts. */
export const MAX_SEED_FILE_CHARACTERS = 16 * 1024 * 1024;
const MAX_SEED_ROWS = 20_000;

/** @param pause called often, so that logins continue meanwhile */
export async function readSeedFile(
  text: string,
  { options, pause }: { options: SeedFileOptions; pause: () => Promise<void> },
): Promise<SeedFileOutcome> {
  const refused = (problem: SeedFileProblem) => ({ ok: false, problem } as const);
  if (text.length > MAX_SEED_FILE_CHARACTERS) return refused("file_too_large");
  if (text.trim() === "") return refused("empty_file");
  if (isXml(text)) {
    const file = await readPskc(text, { options, most: MAX_SEED_ROWS, pause });
    if (typeof file === "string") return refused(file);
    return { ok: true, form: "pskc", rows: markRepeated(file.rows), isSigned: file.isSigned };
  }
  const table = await readSeedCsv(text, { options, most: MAX_SEED_ROWS, pause });
  if (table === null) return refused("unknown_format");
  if (table === "too_many_tokens") return refused(table);
  return { ok: true, form: table.form, rows: markRepeated(table.rows), isSigned: false };
}
