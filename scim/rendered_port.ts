// Users as the text of a response, without reading those that did not change since they were rendered.

import type { Listed, Listing, ListOptions } from "./index_port.ts";
import type { Stored } from "./schema/resource.ts";

/** How an interface renders a user. */
export interface UserRenderer {
  readonly interfaceName: "idm" | "v2";
  /** All that a text depends on besides the user and the groups; compared one by one, objects by identity. Nothing of the caller. */
  readonly on: readonly unknown[];
  render(stored: Stored): string | Promise<string>;
}

/** A resource of a page. */
export interface RenderedResource {
  /** JSON. */
  readonly text: string;
  /** About the length of what is stored. */
  readonly storedLength: number;
}

export interface RenderedUser extends RenderedResource {
  readonly id: string;
  /** As given. */
  readonly name: string;
  readonly version: string;
}

interface RenderedPage {
  readonly total: number;
  /** From 1. */
  readonly startIndex: number;
  readonly users: readonly RenderedUser[];
}

/** The reads of one request. */
export interface RenderedReads {
  read(canonical: string): Promise<RenderedUser | null>;
  readById(id: string): Promise<RenderedUser | null>;
  /** As `TargetDirectory.page` of users. */
  page(
    options: { readonly page: number; readonly size: number; readonly isReverse?: boolean },
  ): Promise<RenderedPage>;
  /** As `ResourceIndexes.list` of users. */
  list(listing: Listing, options: ListOptions): Promise<Listed[]>;
  /** As `ResourceIndexes.readMany` of users. */
  readMany(listed: readonly Listed[]): Promise<readonly RenderedUser[]>;
}
