// The ordered indexes of a directory, for queries: how many resources a range of keys has, and which. Types only.

import type { ResourceKind, Stored } from "./schema/resource.ts";

/** An attribute whose values are indexed. */
export type IndexedAttribute =
  | "externalId"
  | "emails.value"
  | "displayName"
  | "active"
  | "meta.created"
  | "meta.lastModified";

/** The order of an index: by canonical name, or by search word or value and then by canonical name. */
export type ListedBy = "name" | "word" | IndexedAttribute;

/** Keys from `from` (inclusive) to `to` (exclusive). A key is a canonical name, or a word or value, U+0000 and a canonical name. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** What to list. */
export interface Listing {
  readonly by: ListedBy;
  /** In order, without common keys. */
  readonly ranges: readonly KeyRange[];
  /**
   * A resource with several values has several keys. `first`: only the key of its first value counts. A number n: keys whose value begins with the
   * same n characters as an earlier value do not count. `every`: all count.
   */
  readonly counted: "first" | "every" | number;
}

/** One resource of a list, at its place in the order. */
export interface Listed {
  readonly key: string;
  readonly canonical: string;
}

export interface ListOptions {
  readonly offset: number;
  readonly limit: number;
  /** From the last key to the first. */
  readonly isReverse?: boolean;
}

/** The counts are exact. Reading a page reads a few hundred keys more than the page has, whatever the size of the directory. */
export interface ResourceIndexes {
  count(kind: ResourceKind, listing: Listing): Promise<number>;
  list(kind: ResourceKind, listing: Listing, options: ListOptions): Promise<Listed[]>;
  /** Resources with so many values of an attribute that the index does not have all of them. `null`: none. */
  manyValued(kind: ResourceKind, by: IndexedAttribute): Promise<Listing | null>;
  /** The resources of a list, in this order, without those that do not exist any more. */
  readMany(kind: ResourceKind, listed: readonly Listed[]): Promise<Stored[]>;
  /** The canonical names of the groups of a user. The list may have groups that the user has left. */
  groupsOf(user: string): Promise<string[]>;
}
