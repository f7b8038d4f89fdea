// Steps of Microsoft's reference collection; see entra_collection_rows.ts.

import { type Step } from "./suite_row.ts";

export const COLLECTION = "Microsoft SCIM reference collection";

type Attributes = Readonly<Record<string, unknown>>;

export function postUser(name: string, attributes: Attributes, more: Partial<Step> = {}): Step {
  return { send: "POST /Users", body: attributes, status: 201, save: { [name]: "id" }, ...more };
}

export const deleted = (...ids: string[]): Step[] => ids.map((id) => ({ send: `DELETE ${id}`, status: 204 }));
