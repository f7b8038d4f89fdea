// Ids of audit records: they begin with the time, so they sort by it.

/** Ids count in 1/1024 ms, in base 36. */
const IDS_PER_MS = 1024;
const TIME_CHARACTERS = 11;

/**
 * Ids that sort in the order of the calls, also within one millisecond and after the clock was set back.
 *
 * @param newest the newest id in the store, so that the order holds across restarts.
 */
export function createAuditIds(
  { node, newest = "" }: { node: string; newest?: string },
): (nowMs: number) => string {
  let last = Math.max(0, auditIdTicks(newest));
  return (nowMs) => {
    last = Math.max(last + 1, Math.floor(nowMs * IDS_PER_MS));
    return idText(last) + node;
  };
}

function idText(ticks: number): string {
  return ticks.toString(36).padStart(TIME_CHARACTERS, "0");
}

/** The node that wrote a record. */
export function auditIdNode(id: string): string {
  return id.slice(TIME_CHARACTERS);
}

/** The count in an id; 0 if the text is not an id, or the count is too large to continue. */
function auditIdTicks(id: string): number {
  const text = id.slice(0, TIME_CHARACTERS);
  const ticks = /^[0-9a-z]{11}$/.test(text) ? Number.parseInt(text, 36) : 0;
  return ticks < Number.MAX_SAFE_INTEGER / 2 ? ticks : 0;
}

/** The first id of a moment. */
export function auditIdAt(atMs: number): string {
  return idText(Math.max(0, Math.floor(atMs * IDS_PER_MS)));
}

/** The moment of an id (milliseconds since the epoch). */
export function auditIdMs(id: string): number {
  return auditIdTicks(id) / IDS_PER_MS;
}
