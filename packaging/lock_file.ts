// Reads deno.lock: which npm packages a set of dependencies needs, and a lock file of only those.

/** One package of `npm` in a lock file of version 5. */
interface LockedPackage {
  /** The digest of the package's archive, as in the registry: "sha512-…". */
  readonly integrity: string;
  /** Names, with a version where the lock file has several of that name. */
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
  readonly optionalPeers?: readonly string[];
}

/** The parts of a lock file of version 5 that are read here. */
export interface LockFile {
  readonly version: string;
  /** "npm:hono@4.13.19" → "4.13.19". */
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, LockedPackage>>;
  readonly workspace?: unknown;
}

/** A package of the product, with everything that a list of materials says of it. */
export interface NpmPackage {
  /** As in the lock file, "@preact/signals@2.11.4_preact@11.2.0". */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** The ids of what it needs. */
  readonly needs: readonly string[];
}

/** Reads a lock file. Throws for another version, whose rows may mean something else. */
export function parseLock(text: string): LockFile {
  const lock = JSON.parse(text) as LockFile;
  if (lock.version !== "5") {
    throw new Error(`deno.lock has version ${lock.version}; this program reads version 5`);
  }
  return lock;
}

/** The packages that `specifiers` need, sorted by id. Optional dependencies are not followed: no package here needs one. */
export function packagesOf(lock: LockFile, specifiers: Iterable<string>): NpmPackage[] {
  const found = new Map<string, NpmPackage>();
  const visit = (id: string): void => {
    if (found.has(id)) return;
    const row = lock.npm[id];
    if (row === undefined) throw new Error(`deno.lock has no package ${id}`);
    const needs = (row.dependencies ?? []).map((name) => idOf(lock, name));
    found.set(id, { id, ...nameAndVersion(id), integrity: row.integrity, needs });
    needs.forEach(visit);
  };
  for (const specifier of specifiers) visit(idOf(lock, specifier.replace(/^npm:/, "")));
  return [...found.values()].sort((a, b) => a.id < b.id ? -1 : 1);
}

/** The packages that imports of deno.json name, sorted: "npm:deno-std@1.4.0/assert/mod.js" → "npm:deno-std@1.4.0". */
export function packageSpecifiers(imports: Readonly<Record<string, string>>): string[] {
  const named = Object.values(imports).map((one) => /^npm:(@[^/]+\/)?[^/]+/.exec(one)?.[0] ?? one);
  return [...new Set(named)].sort();
}

/** The lock file of a project that has only `wanted`, so that Deno installs nothing else. */
export function reducedLock(lock: LockFile, wanted: readonly string[]): string {
  const ids = packagesOf(lock, wanted).map(({ id }) => id);
  return `${
    JSON.stringify(
      {
        version: lock.version,
        specifiers: Object.fromEntries(wanted.map((one) => [one, lock.specifiers[one]])),
        npm: Object.fromEntries(ids.map((id) => [id, lock.npm[id]])),
        workspace: { dependencies: wanted },
      },
      null,
      2,
    )
  }\n`;
}

/** A name stands alone when the lock file has one package of that name. */
function idOf(lock: LockFile, name: string): string {
  const resolved = lock.specifiers[`npm:${name}`];
  if (resolved !== undefined) return `${nameAndVersion(name).name}@${resolved}`;
  if (lock.npm[name] !== undefined) return name;
  const ids = Object.keys(lock.npm).filter((id) => nameAndVersion(id).name === name);
  const [id] = ids;
  if (id === undefined || ids.length > 1) throw new Error(`deno.lock has ${ids.length} packages for ${name}`);
  return id;
}

function nameAndVersion(id: string): { name: string; version: string } {
  const cut = id.indexOf("@", 1);
  const version = cut < 0 ? "" : id.slice(cut + 1);
  return { name: cut < 0 ? id : id.slice(0, cut), version: version.replace(/_.*/, "") };
}
