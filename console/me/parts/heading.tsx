// The heading of what is shown now; it takes the focus when the focused element is gone, so that keyboard users keep their place.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Heading({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return <h1 ref={heading} tabIndex={-1}>{children}</h1>;
}
