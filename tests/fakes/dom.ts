// A document for components: enough of the DOM for Preact to render, to read texts, and to press buttons. No layout.

import { options, render } from "preact";
import type { ComponentChild } from "preact";

type Listener = (this: FakeElement, event: FakeEvent) => unknown;

export interface FakeEvent {
  readonly type: string;
  readonly target: FakeElement;
  readonly currentTarget: FakeElement;
  preventDefault(): void;
}

class FakeNode {
  readonly childNodes: FakeNode[] = [];
  parentNode: FakeNode | null = null;
  readonly nodeType: number;
  readonly localName: string | null;
  data = "";

  constructor(nodeType: number, localName: string | null) {
    this.nodeType = nodeType;
    this.localName = localName;
  }

  get firstChild(): FakeNode | null {
    return this.childNodes[0] ?? null;
  }

  get nextSibling(): FakeNode | null {
    const siblings = this.parentNode?.childNodes ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  get ownerDocument(): typeof fakeDocument {
    return fakeDocument;
  }

  get textContent(): string {
    return this.data + this.childNodes.map(({ textContent }) => textContent).join("");
  }

  insertBefore(node: FakeNode, before: FakeNode | null): FakeNode {
    node.remove();
    const at = before === null ? this.childNodes.length : this.childNodes.indexOf(before);
    this.childNodes.splice(at, 0, node);
    node.parentNode = this;
    return node;
  }

  appendChild(node: FakeNode): FakeNode {
    return this.insertBefore(node, null);
  }

  removeChild(node: FakeNode): void {
    node.remove();
  }

  remove(): void {
    const siblings = this.parentNode?.childNodes ?? [];
    const at = siblings.indexOf(this);
    if (at >= 0) siblings.splice(at, 1);
    this.parentNode = null;
  }

  contains(node: FakeNode | null): boolean {
    return node !== null && (node === this || this.contains(node.parentNode));
  }
}

/** An element. Everything that Preact sets is an attribute. */
export class FakeElement extends FakeNode {
  readonly namespaceURI = "http://www.w3.org/1999/xhtml";
  readonly attributes = new Map<string, unknown>();
  readonly style = { setProperty: () => undefined };
  readonly #listeners = new Map<string, Listener>();
  open = false;

  constructor(localName: string) {
    super(1, localName);
  }

  setAttribute(name: string, value: unknown): void {
    this.attributes.set(name, value);
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, listener);
  }

  removeEventListener(type: string): void {
    this.#listeners.delete(type);
  }

  showModal(): void {
    this.open = true;
  }

  close(): void {
    this.open = false;
  }

  focus(): void {}

  /** Without a layout, nothing needs a place that it could scroll in. */
  closest(_selector: string): null {
    return null;
  }

  /** Runs the listener of an event, unless the element is disabled. */
  fire(type: string): void {
    if (this.attributes.has("disabled")) return;
    for (const [name, listener] of this.#listeners) {
      if (name.toLowerCase() !== type) continue;
      listener.call(this, { type: name, target: this, currentTarget: this, preventDefault: () => undefined });
    }
  }

  /** The elements with a tag name below this one, in document order. */
  all(name: string): FakeElement[] {
    return this.childNodes.flatMap((node) =>
      node instanceof FakeElement ? [...node.localName === name ? [node] : [], ...node.all(name)] : []
    );
  }

  /** The button with the given text. */
  button(text: string): FakeElement {
    const found = this.all("button").find(({ textContent }) => textContent.includes(text));
    if (found === undefined) throw new Error(`no button "${text}" in "${this.textContent}"`);
    return found;
  }
}

const fakeDocument = {
  visibilityState: "visible",
  /** No rule of CSS is known here. */
  querySelector: () => null,
  createElement: (name: string) => new FakeElement(name),
  createElementNS: (_namespace: string, name: string) => new FakeElement(name),
  createTextNode(text: unknown) {
    const node = new FakeNode(3, null);
    node.data = String(text);
    return node;
  },
};

/** Runs the pending promises, renders and effects. */
export const rendered = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve, 0));
};

export interface FakePage extends AsyncDisposable {
  readonly root: FakeElement;
  show(component: ComponentChild): Promise<void>;
}

/** A page to render one component at a time into. The globals of the browser exist until it is disposed. */
export function openFakePage(): FakePage {
  const globals = globalThis as Record<string, unknown>;
  const before = {
    document: globals.document,
    SPRITE_URL: globals.SPRITE_URL,
    ResizeObserver: globals.ResizeObserver,
    getComputedStyle: globals.getComputedStyle,
  };
  const { requestAnimationFrame } = options as { requestAnimationFrame?: unknown };
  Object.assign(globals, {
    document: fakeDocument,
    SPRITE_URL: "",
    // Elements have no size and no style.
    ResizeObserver: class {
      observe(): void {}
      disconnect(): void {}
    },
    getComputedStyle: () => ({ getPropertyValue: () => "" }),
  });
  Object.assign(options, { requestAnimationFrame: (task: () => void) => void queueMicrotask(task) });
  const root = new FakeElement("body");
  const put = (component: ComponentChild) => render(component, root as unknown as Element);
  return {
    root,
    async show(component) {
      put(component);
      await rendered();
    },
    async [Symbol.asyncDispose]() {
      put(null);
      await rendered();
      Object.assign(globals, before);
      Object.assign(options, { requestAnimationFrame });
    },
  };
}
