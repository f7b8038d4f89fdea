// The texts of users in responses, in memory: a page or a read of users that did not change is joined from texts, without reading, decoding and
// rendering them. Only for a store that no other process writes: the commit of a user removes its texts before the writer is told.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Listed, RenderedReads, RenderedUser, TargetDirectory, UserRenderer } from "../ports.ts";
import type { Stored } from "../schema/resource.ts";
import { textSizeOctets } from "./records.ts";

interface RenderedUsersDeps {
  readonly directory: Pick<TargetDirectory, "read" | "readById" | "page" | "indexes">;
  /** About what the texts take; 0: nothing stays in memory. */
  readonly maxOctets: number;
  /** While a group is renamed, users show its new name before their records have it. */
  readonly isRenaming: () => boolean;
}

interface Rendering {
  readonly on: readonly unknown[];
  readonly text: string;
  /** The number of group changes that the text knows, if the user has groups. */
  readonly groupChanges: number | null;
}

/** A user with a text for each interface. */
interface KnownUser extends Omit<RenderedUser, "text"> {
  readonly canonical: string;
  idm: Rendering | null;
  v2: Rendering | null;
  octets: number;
}

/** The users of a page, by their canonical names. */
interface KnownPage {
  readonly total: number;
  readonly startIndex: number;
  readonly canonicals: readonly string[];
}

/** The state of the memory when the reads of a request began. */
interface Mark {
  readonly writes: number;
  readonly nameChanges: number;
  readonly groupChanges: number;
}

/** A user without texts: the objects, and the texts of names, id and version. */
const USER_OCTETS = 500;
/** Longer texts are rendered each time. */
const MAX_TEXT_CHARACTERS = 24_000;
/** Names of pages, with what a page takes itself; an import into an empty directory has no pages. */
const MAX_NAMES = 200_000;
/** A page takes as much as this many names, and its key as one name for so many characters. */
const PAGE_NAMES = 8;
const KEY_CHARACTERS_PER_NAME = 8;
/** A page with more users that must be read is read as a range. */
const MAX_SINGLE_READS = 8;
/** Writes that reads in progress are compared with. */
const MAX_RECENT_WRITES = 10_000;

export class RenderedUsers {
  readonly #deps: RenderedUsersDeps;
  /** The user that was not used for the longest time is the first. */
  readonly #users = new Map<string, KnownUser>();
  readonly #canonicals = new Map<string, string>();
  #octets = 0;
  /** The pages until a user is created or deleted, which can change any of them. */
  readonly #pages = new Map<string, KnownPage>();
  #names = 0;
  #mark: Mark = { writes: 0, nameChanges: 0, groupChanges: 0 };
  /** The number of the last write of each user, for the writes after `#forgotten`. */
  readonly #recent = new Map<string, number>();
  #forgotten = 0;
  /** Users share the list of what their texts depend on. */
  readonly #on = new Map<UserRenderer["interfaceName"], readonly unknown[]>();

  constructor(deps: RenderedUsersDeps) {
    this.#deps = deps;
  }

  /** Reads users for one request. What it reads stays in memory unless a write overtakes it. */
  render(renderer: UserRenderer): RenderedReads {
    const { directory } = this.#deps;
    const reads = { renderer: { ...renderer, on: this.#shared(renderer) }, mark: this.#mark };
    const rendered = async (stored: Stored | null) =>
      stored === null ? null : await this.#render(stored, reads);
    const all = (found: readonly Stored[]) => Promise.all(found.map((stored) => this.#render(stored, reads)));
    const readMany = async (listed: readonly Listed[]): Promise<readonly RenderedUser[]> => {
      const known = listed.map(({ canonical }) => this.#find(canonical, reads.renderer));
      const missing = listed.filter((_, at) => known[at] === undefined);
      if (missing.length === 0) return known.filter((user) => user !== undefined);
      const found = await all(await directory.indexes.readMany("user", missing));
      if (missing.length === listed.length) return found;
      const byName = new Map(found.map((user) => [canonicalName(user.name), user]));
      return listed.flatMap(({ canonical }, at) => known[at] ?? byName.get(canonical) ?? []);
    };
    return {
      readMany,
      read: async (canonical) =>
        this.#find(canonical, reads.renderer) ?? await rendered(await directory.read("user", canonical)),
      readById: async (id) => {
        const canonical = this.#canonicals.get(id);
        const known = canonical === undefined ? undefined : this.#find(canonical, reads.renderer);
        return known?.id === id ? known : await rendered(await directory.readById("user", id));
      },
      page: async (options) => {
        const key = JSON.stringify(options);
        const known = this.#findPage(key);
        if (known !== undefined) {
          const { total, startIndex, canonicals } = known;
          return { total, startIndex, users: await readMany(canonicals.map(toListed)) };
        }
        const { total, startIndex, resources } = await directory.page("user", options);
        const users = await all(resources);
        this.#keepPage(key, { total, startIndex, canonicals: canonicalsOf(users) }, reads.mark);
        return { total, startIndex, users };
      },
      list: async (listing, options) => {
        const key = listing.by === "name" ? JSON.stringify([listing, options]) : "";
        const known = this.#findPage(key);
        if (known !== undefined) return known.canonicals.map(toListed);
        const listed = await directory.indexes.list("user", listing, options);
        const canonicals = listed.map(({ canonical }) => canonical);
        if (key !== "") this.#keepPage(key, { total: 0, startIndex: 0, canonicals }, reads.mark);
        return listed;
      },
    };
  }

  /** Call it when the write of a user is durable, before the writer is told. @param options.isNameChange the user was created or deleted */
  forget(canonical: string, { isNameChange }: { readonly isNameChange: boolean }): void {
    const { writes, nameChanges, groupChanges } = this.#mark;
    this.#mark = { writes: writes + 1, nameChanges: nameChanges + (isNameChange ? 1 : 0), groupChanges };
    if (this.#recent.size >= MAX_RECENT_WRITES) {
      this.#recent.clear();
      this.#forgotten = writes;
    }
    this.#recent.set(canonical, writes + 1);
    const user = this.#users.get(canonical);
    if (user !== undefined) this.#drop(user);
    if (isNameChange) this.#dropPages();
  }

  /** Call it when a group was created, deleted or renamed: the texts of /scim/v2 have the ids of groups. */
  groupsChanged(): void {
    this.#mark = { ...this.#mark, groupChanges: this.#mark.groupChanges + 1 };
  }

  async #render(
    stored: Stored,
    { renderer, mark }: { readonly renderer: UserRenderer; readonly mark: Mark },
  ): Promise<RenderedUser> {
    const canonical = canonicalName(stored.content.name);
    const known = this.#find(canonical, renderer);
    if (known !== undefined && known.version === stored.version) return known;
    const user = {
      id: stored.id,
      name: stored.content.name,
      version: stored.version,
      storedLength: stored.attributesText?.length ?? 0,
      text: await renderer.render(stored),
    };
    const { maxOctets, isRenaming } = this.#deps;
    const isOvertaken = mark.writes < this.#forgotten || (this.#recent.get(canonical) ?? 0) > mark.writes;
    if (maxOctets === 0 || isOvertaken || isRenaming() || user.text.length > MAX_TEXT_CHARACTERS) return user;
    const groupChanges = stored.groups.length === 0 ? null : mark.groupChanges;
    this.#keep(canonical, { user, renderer, groupChanges });
    return user;
  }

  #find(canonical: string, { interfaceName, on }: UserRenderer): RenderedUser | undefined {
    const user = this.#users.get(canonical);
    const rendering = user?.[interfaceName] ?? null;
    if (user === undefined || rendering === null || !isSame(rendering.on, on)) return undefined;
    const { groupChanges, text } = rendering;
    if (groupChanges !== null && groupChanges !== this.#mark.groupChanges) return undefined;
    if (this.#deps.isRenaming()) return undefined;
    this.#users.delete(canonical);
    this.#users.set(canonical, user);
    const { id, name, version, storedLength } = user;
    return { id, name, version, storedLength, text };
  }

  #keep(
    canonical: string,
    { user: { id, name, version, storedLength, text }, renderer: { interfaceName, on }, groupChanges }: {
      readonly user: RenderedUser;
      readonly renderer: UserRenderer;
      readonly groupChanges: number | null;
    },
  ): void {
    let known = this.#users.get(canonical);
    if (known === undefined) {
      known = { id, name, version, storedLength, canonical, idm: null, v2: null, octets: USER_OCTETS };
      this.#octets += USER_OCTETS;
      this.#canonicals.set(id, canonical);
    } else this.#users.delete(canonical);
    const former = known[interfaceName];
    const octets = textSizeOctets(text) - (former === null ? 0 : textSizeOctets(former.text));
    known[interfaceName] = { on, text, groupChanges };
    known.octets += octets;
    this.#octets += octets;
    this.#users.set(canonical, known);
    for (const oldest of this.#users.values()) {
      if (this.#octets <= this.#deps.maxOctets) break;
      this.#drop(oldest);
    }
  }

  #drop({ canonical, id, octets }: KnownUser): void {
    this.#users.delete(canonical);
    if (this.#canonicals.get(id) === canonical) this.#canonicals.delete(id);
    this.#octets -= octets;
  }

  #findPage(key: string): KnownPage | undefined {
    const page = this.#pages.get(key);
    if (page === undefined) return undefined;
    let missing = 0;
    for (const canonical of page.canonicals) if (!this.#users.has(canonical)) missing += 1;
    return missing > MAX_SINGLE_READS ? undefined : page;
  }

  #keepPage(key: string, page: KnownPage, mark: Mark): void {
    if (this.#deps.maxOctets === 0 || mark.nameChanges !== this.#mark.nameChanges) return;
    // A page without users counts, too: clients can ask for any number of them.
    const keyNames = PAGE_NAMES + Math.ceil(key.length / KEY_CHARACTERS_PER_NAME);
    const before = this.#pages.get(key);
    if (this.#names + keyNames + page.canonicals.length > MAX_NAMES) this.#dropPages();
    else if (before !== undefined) this.#names -= keyNames + before.canonicals.length;
    this.#pages.set(key, page);
    this.#names += keyNames + page.canonicals.length;
  }

  #dropPages(): void {
    this.#pages.clear();
    this.#names = 0;
  }

  #shared({ interfaceName, on }: UserRenderer): readonly unknown[] {
    const known = this.#on.get(interfaceName);
    if (known !== undefined && isSame(known, on)) return known;
    this.#on.set(interfaceName, on);
    return on;
  }
}

function toListed(canonical: string): Listed {
  return { key: canonical, canonical };
}

function canonicalsOf(users: readonly RenderedUser[]): string[] {
  return users.map(({ name }) => canonicalName(name));
}

function isSame(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before === now || (before.length === now.length && before.every((value, at) => value === now[at]));
}
