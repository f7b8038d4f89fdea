// What deeds on many users and imports ask of the API, typed.

import type { BulkAction, BulkPreview, ImportView, JobView, Verdict } from "../../api/users/bulk_types.ts";
import { take } from "../api_client.ts";
import type { Models } from "./models.ts";

/** Filters of the list of users, "" for those that are off. */
export type UserFilters = Readonly<Record<"q" | "status" | "enrolled" | "backend" | "sync", string>>;

/** Whom it is done to. */
export type Choice =
  | { readonly names: readonly string[] }
  | { readonly filters: UserFilters; readonly expected: number };

export interface Deed {
  readonly target: string;
  readonly choice: Choice;
  readonly action: BulkAction;
  readonly group?: string;
  readonly backends: readonly string[] | null;
}

/** What is not one of the choices is refused by the server, with a sentence. */
type BulkBody = Parameters<Models["api"]["bulk"]["$post"]>[0]["json"];

export function beginDeed({ api, session }: Models, deed: Deed): Promise<JobView> {
  const { target, backends, ...rest } = deed;
  const json = {
    ...rest,
    ...(target === "" ? {} : { target }),
    ...(backends === null ? {} : { backends: [...backends] }),
  } as BulkBody;
  return session.whileSignedIn(() => take(api.bulk.$post({ json })));
}

export function previewDeed(
  { api, session }: Models,
  { target, choice }: Pick<Deed, "target" | "choice">,
): Promise<BulkPreview> {
  const json = { choice, ...(target === "" ? {} : { target }) } as Pick<BulkBody, "choice" | "target">;
  return session.whileSignedIn(() => take(api.bulk.preview.$post({ json })));
}

export function createJobCalls({ api, session }: Models, id: string) {
  const one = api.jobs[":id"];
  const param = { id };
  return {
    view: (): Promise<JobView> => session.whileSignedIn(() => take(one.$get({ param }))),
    stop: (): Promise<JobView> => session.whileSignedIn(() => take(one.stop.$post({ param, json: {} }))),
    undo: (): Promise<JobView> => session.whileSignedIn(() => take(one.undo.$post({ param, json: {} }))),
  };
}

const PIECE_CHARACTERS = 200_000;

/** Sends a file in pieces, and begins to look through it. */
export async function sendFile(
  models: Models,
  file: { name: string; text: string; target: string; mayUpdate: boolean },
): Promise<ImportView> {
  const { imports } = models.api;
  const ask = models.session.whileSignedIn;
  const json = { file: file.name, ...(file.target === "" ? {} : { target: file.target }) };
  const { id } = await ask(() => take(imports.$post({ json })));
  for (let from = 0; from < file.text.length; from += PIECE_CHARACTERS) {
    const text = file.text.slice(from, from + PIECE_CHARACTERS);
    await ask(() => take(imports[":id"].text.$post({ param: { id }, json: { text } })));
  }
  return await createImportCalls(models, id).check({ mayUpdate: file.mayUpdate });
}

export function createImportCalls({ api, session }: Models, id: string) {
  const one = api.imports[":id"];
  const param = { id };
  const ask = session.whileSignedIn;
  return {
    view: ({ verdict, page }: { verdict: Verdict | ""; page: string }): Promise<ImportView> =>
      ask(() => take(one.$get({ param, query: { verdict, page } }))),
    check: (json: { mayUpdate: boolean; backends?: string[] }): Promise<ImportView> =>
      ask(() => take(one.check.$post({ param, json }))),
    change: (line: number, json: { skip?: boolean; cells?: (string | null)[] }): Promise<ImportView> =>
      ask(() => take(one.rows[":line"].$put({ param: { ...param, line: String(line) }, json }))),
    apply: (): Promise<ImportView> => ask(() => take(one.apply.$post({ param, json: {} }))),
    end: () => ask(() => take(one.$delete({ param, json: {} }))),
  };
}
