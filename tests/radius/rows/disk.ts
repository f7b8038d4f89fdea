// A directory for stores that outlive a gateway, for tests.

/** A directory for stores that outlive a gateway. */
export interface Disk extends AsyncDisposable {
  readonly path: string;
  /** A copy of the present store, as a crash would leave it. */
  copy(): Promise<string>;
}

export async function openDisk(): Promise<Disk> {
  const home = await Deno.makeTempDir({ prefix: "countersign-rows-" });
  let copies = 0;
  return {
    path: `${home}/store`,
    async copy() {
      const to = `${home}/copy${++copies}`;
      for await (const { name } of Deno.readDir(home)) {
        if (name.startsWith("store")) await Deno.copyFile(`${home}/${name}`, to + name.slice("store".length));
      }
      return to;
    },
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}
