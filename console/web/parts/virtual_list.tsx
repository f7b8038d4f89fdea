// A list of rows of one height that draws only those in view. Rows are placed by a transform, so that nothing shifts
// when others come or go.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface VirtualListProps<T> {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly renderRow: (row: T, place: { index: number; transform: string }) => ComponentChildren;
  readonly label: string;
}

/** Rows drawn beyond each edge, so that a quick scroll shows no gap. */
const OVERSCAN = 6;
const FALLBACK_ROW_PX = 36;

export function VirtualList<T>({ rows, keyOf, renderRow, label }: VirtualListProps<T>) {
  const frame = useRef<HTMLDivElement>(null);
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
  const first = Math.max(0, Math.floor(top.value / rowPx) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((top.value + heightPx) / rowPx) + OVERSCAN);
  return (
    <div
      class="rows"
      ref={frame}
      role="rowgroup"
      aria-label={label}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
    >
      <div class="spacer" role="presentation" style={{ height: `${rows.length * rowPx}px` }}>
        {rows.slice(first, last).map((row, at) => {
          const index = first + at;
          return (
            <Row key={keyOf(row)}>
              {renderRow(row, { index, transform: `translateY(${index * rowPx}px)` })}
            </Row>
          );
        })}
      </div>
    </div>
  );
}

/** Carries the key; the row itself is the caller's. */
function Row({ children }: { children: ComponentChildren }) {
  return <>{children}</>;
}
