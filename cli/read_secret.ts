// Reads a secret from standard input: a pipe's first line, or what is typed at a terminal without showing it.

const MAX_OCTETS = 4096;

const KEYS = {
  interrupt: 0x03,
  end: 0x04,
  backspace: 0x08,
  lineFeed: 0x0a,
  return: 0x0d,
  delete: 0x7f,
} as const;

/** Standard input as far as it is used here; a terminal can be told not to echo. */
export interface SecretInput {
  read(buffer: Uint8Array): Promise<number | null>;
  isTerminal(): boolean;
  setRaw(mode: boolean): void;
}

/**
 * Reads one line of at most 4 KiB, without blanks around it.
 *
 * @param prompt writes what is asked for; called for a terminal only.
 * @param options.asksFor what is asked for, in words.
 * @returns `null` when it was given up with Ctrl-C, or is longer.
 */
export async function readSecretLine(
  input: SecretInput,
  prompt: (text: string) => void,
  { asksFor = "TOTP secret" }: { asksFor?: string } = {},
): Promise<string | null> {
  if (!input.isTerminal()) return await readOctets(input);
  prompt(`${asksFor} (it is not shown): `);
  input.setRaw(true);
  try {
    return await readOctets(input);
  } finally {
    input.setRaw(false);
    prompt("\n");
  }
}

async function readOctets(input: SecretInput): Promise<string | null> {
  const typed: number[] = [];
  const buffer = new Uint8Array(256);
  for (;;) {
    const count = await input.read(buffer);
    if (count === null) return textOf(typed);
    for (const octet of buffer.subarray(0, count)) {
      if (octet === KEYS.interrupt) return null;
      if (octet === KEYS.lineFeed || octet === KEYS.return || octet === KEYS.end) return textOf(typed);
      if (octet === KEYS.backspace || octet === KEYS.delete) typed.pop();
      else typed.push(octet);
      if (typed.length > MAX_OCTETS) return null;
    }
  }
}

function textOf(octets: readonly number[]): string {
  return new TextDecoder().decode(Uint8Array.from(octets)).trim();
}
