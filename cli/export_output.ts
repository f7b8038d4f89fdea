// Where an export goes: standard output, or a file that appears whole and that only its owner may read.

export interface Output {
  /** @returns whether the reader is still there. */
  write(text: string): Promise<boolean>;
  /** Puts the file in its place. */
  finish(): Promise<void>;
  /** Throws away what was written. */
  abandon(): Promise<void>;
}

const encoder = new TextEncoder();

export function standardOutput(): Output {
  return {
    async write(text) {
      try {
        await writeAll(Deno.stdout, text);
        return true;
      } catch (fault) {
        if (fault instanceof Deno.errors.BrokenPipe) return false;
        throw fault;
      }
    },
    finish: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}

/** @param path replaced at the end by a rename; until then the text stands beside it. */
export async function fileOutput(path: string): Promise<Output> {
  const temporary = `${path}.${crypto.getRandomValues(new Uint8Array(6)).toHex()}.new`;
  const file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
  return {
    async write(text) {
      await writeAll(file, text);
      return true;
    },
    async finish() {
      await file.sync();
      file.close();
      await Deno.rename(temporary, path);
    },
    async abandon() {
      file.close();
      await Deno.remove(temporary);
    },
  };
}

async function writeAll(stream: { write(octets: Uint8Array): Promise<number> }, text: string): Promise<void> {
  const octets = encoder.encode(text);
  for (let at = 0; at < octets.length;) at += await stream.write(octets.subarray(at));
}
