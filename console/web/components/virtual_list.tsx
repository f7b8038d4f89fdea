// A list of rows of equal height that renders only the visible ones. Rows are placed by a transform, so that no other row
// shifts. A row renders again only if it changed.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

export interface RowPosition {
  readonly index: number;
  readonly transform: string;
}

interface VirtualListProps<T> {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Renders a row. Other values that it reads must be in `drawnWith` or be signals read by a part of the row. */
  readonly renderRow: (row: T, place: RowPosition) => ComponentChildren;
  /** All rows render again when one of these changes. The number of values is constant. */
  readonly drawnWith?: readonly unknown[];
  /** The focus is not in the list: elements of rows that scrolled out are reused for new rows. */
  readonly reuse?: boolean;
  readonly label: string;
}

/** Rows that are rendered beyond each edge, so that quick scrolling shows no gap. */
const OVERSCAN = 6;
const FALLBACK_ROW_PX = 36;
const NO_SLOTS: NextSlots = { slots: new Map(), free: 0 };
const NO_INPUTS: readonly unknown[] = [];

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { rows, keyOf, renderRow, drawnWith = NO_INPUTS, reuse = false, label } = props;
  const frame = useRef<HTMLDivElement>(null);
  const slots = useRef(NO_SLOTS);
  // In rows, not in pixels: scrolling within a row renders nothing.
  const top = useSignal(0);
  const size = useSignal({ heightPx: 600, rowPx: FALLBACK_ROW_PX });
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const measure = () => {
      const rowPx = parseFloat(getComputedStyle(element).getPropertyValue("--row")) || FALLBACK_ROW_PX;
      size.value = { heightPx: element.clientHeight, rowPx };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  const { heightPx, rowPx } = size.value;
  const first = Math.max(0, top.value - OVERSCAN);
  const last = Math.min(rows.length, top.value + Math.ceil(heightPx / rowPx) + 1 + OVERSCAN);
  const shown = rows.slice(first, last);
  slots.current = assignSlots(slots.current, shown.map(keyOf), { reuse });
  return (
    <div
      class="rows"
      ref={frame}
      role="rowgroup"
      aria-label={label}
      onScroll={(event) => {
        top.value = Math.floor(event.currentTarget.scrollTop / size.peek().rowPx);
      }}
    >
      <div class="spacer" role="presentation" style={{ height: `${rows.length * rowPx}px` }}>
        {shown.map((row, at) => (
          <Row
            key={slots.current.slots.get(keyOf(row))}
            row={row}
            index={first + at}
            rowPx={rowPx}
            render={renderRow}
            drawnWith={drawnWith}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps<T> {
  readonly row: T;
  readonly index: number;
  readonly rowPx: number;
  readonly render: VirtualListProps<T>["renderRow"];
  readonly drawnWith: readonly unknown[];
}

function Row<T>({ row, index, rowPx, render, drawnWith }: RowProps<T>) {
  const drawn = useMemo(
    () => render(row, { index, transform: `translateY(${index * rowPx}px)` }),
    [row, index, rowPx, ...drawnWith],
  );
  return <>{drawn}</>;
}

/** The slot (element) of each row, by the key of the row. */
type RowSlots = ReadonlyMap<string, number>;

export interface NextSlots {
  readonly slots: RowSlots;
  /** The first unused slot. */
  readonly free: number;
}

/**
 * Assigns elements to the visible rows.
 *
 * @param reuse Whether new rows take the elements of rows that left. Not while the focus may be in one of them.
 */
export function assignSlots(
  before: NextSlots,
  keys: readonly string[],
  { reuse }: { reuse: boolean },
): NextSlots {
  const wanted = new Set(keys);
  const left = reuse ? [...before.slots].filter(([key]) => !wanted.has(key)).map(([, slot]) => slot) : [];
  let free = before.free;
  const slots = new Map<string, number>();
  for (const key of keys) slots.set(key, before.slots.get(key) ?? left.shift() ?? free++);
  return { slots, free };
}
