// What a page of clients, targets or groups fetched, or its other states.

import type { ComponentChildren } from "preact";
import type { Resource } from "../../models/resource.ts";
import { Fetched as Any } from "../fetched.tsx";

interface FetchedProps<T> {
  readonly resource: Resource<T>;
  readonly children: (value: T) => ComponentChildren;
}

export function Fetched<T>({ resource, children }: FetchedProps<T>) {
  return <Any resource={resource} failed="connect.unread" old="connect.old" rows={5}>{children}</Any>;
}
