// The text of an event stream, for tests.

/** Reads the text of a stream until it contains `mark`. */
export async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  mark: string,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(mark)) {
    const { done, value } = await reader.read();
    if (done) return `${text}<end>`;
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
