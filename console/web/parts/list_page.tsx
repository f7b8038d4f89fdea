// A page that is a list above all: its head, its filters, and its rows in each of their states. What the list is, the
// page says as data.

import type { ComponentChildren } from "preact";
import { type Filter, takeOff } from "../models/filters.ts";
import type { Models } from "../models/models.ts";
import { type Further, useOlder } from "../models/older.ts";
import type { Resource } from "../models/resource.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { Button } from "./button.tsx";
import { DataTable, type DataTableProps } from "./data_table.tsx";
import { type FailedWords, Fetched } from "./fetched.tsx";
import { FilterChips } from "./filter_chips.tsx";
import { FilterFields } from "./filter_fields.tsx";
import { PageBar } from "./page_bar.tsx";
import { Pager } from "./pager.tsx";
import { EmptyState, ErrorState } from "./states.tsx";

/** Why there is nothing, and the next step. */
type NothingWords = readonly [title: MessageKey, next?: MessageKey];

export interface ListWords extends FailedWords {
  /** What the filters narrow, for screen readers. */
  readonly filters?: MessageKey;
  readonly none: NothingWords;
  /** Nothing fits the filters. */
  readonly unmatched?: NothingWords;
}

/** A page of a list, where the server counts them. */
interface Counted extends Further {
  readonly page?: number;
  readonly size?: number;
  readonly total?: number;
}

/** How a list is read further back. */
export interface ReadOn<P> {
  read(before: string): Promise<P>;
  /** What the button says. */
  label(last: P): string;
  /** How far was looked. */
  said?(last: P): string | null;
}

interface ListProps<T, P> extends Omit<DataTableProps<T>, "label" | "rows" | "busy"> {
  readonly models: Models;
  readonly title: string;
  /** What the rows are; the title unless given. */
  readonly label?: string;
  readonly says: ListWords;
  readonly filters?: readonly Filter[];
  readonly resource: Resource<P>;
  /** The rows of the pages that are shown: one, unless the list is read further back. */
  readonly rows: (page: P, pages: readonly P[]) => readonly T[];
  /** Stands above the rows, also where there are none. */
  readonly note?: (page: P) => ComponentChildren;
  readonly older?: ReadOn<P>;
  /** What can be done where there is nothing yet. */
  readonly begin?: ComponentChildren;
  /** Classes of what stands around the rows, and around the sentence that there are none. */
  readonly frames?: { readonly rows: string; readonly none: string };
}

interface ListPageProps<T, P> extends ListProps<T, P> {
  /** At the right of the head. */
  readonly actions?: ComponentChildren;
  /** The class of the bar of filters. */
  readonly bar?: string;
  /** What follows the list, or lies over it. */
  readonly children?: ComponentChildren;
}

export function ListPage<T, P extends object>(props: ListPageProps<T, P>) {
  const { models, title, says, filters = [], resource, actions, bar, children } = props;
  return (
    <main class="page" id="page">
      <PageBar title={title}>{actions}</PageBar>
      {says.filters !== undefined && (
        <FilterFields
          models={models}
          label={t(says.filters)}
          filters={filters}
          look={bar}
        />
      )}
      <FilterChips models={models} filters={filters} />
      <Fetched resource={resource} {...says}>{(first) => <Rows {...props} first={first} />}</Fetched>
      {children}
    </main>
  );
}

const FRAMES = { rows: "panel", none: "" };
function Rows<T, P extends object>(props: ListProps<T, P> & { readonly first: P }) {
  const { models, title, says, resource, first, older, frames = FRAMES, label = title } = props;
  const behind = useOlder<P>(models);
  const { pages, problem } = behind.of(first);
  const last = pages.at(-1) ?? first;
  const rows = props.rows(last, [first, ...pages]);
  const isBusy = resource.busy.value;
  const { next, page, size, total }: Counted = last;
  const isEmpty = rows.length === 0 && !next;
  return (
    <>
      {props.note?.(last)}
      <section class={isEmpty ? frames.none : frames.rows}>
        {isEmpty ? <Nothing {...props} /> : <DataTable {...props} label={label} rows={rows} busy={isBusy} />}
      </section>
      {problem !== null && <ErrorState title={t(says.failed)}>{problem}</ErrorState>}
      {next && older !== undefined && (
        <div class="pager">
          <span>{older.said?.(last)}</span>
          <Button disabled={behind.isBusy() || isBusy} onClick={() => behind.more(first, older.read)}>
            {older.label(last)}
          </Button>
        </div>
      )}
      {!isEmpty && page !== undefined && size !== undefined && total !== undefined && (
        <Pager models={models} page={page} pageSize={size} shown={rows.length} total={total} />
      )}
    </>
  );
}

type NothingProps = Pick<ListProps<never, never>, "models" | "says" | "filters" | "begin">;

function Nothing({ models, says, filters = [], begin }: NothingProps) {
  const narrowing = filters.filter(({ narrows }) => narrows !== false);
  const isNarrowed = narrowing.some(({ name }) => models.router.param(name) !== "");
  const [title, next] = isNarrowed ? says.unmatched ?? says.none : says.none;
  return (
    <EmptyState
      title={t(title)}
      next={next === undefined ? "" : t(next)}
      onClear={isNarrowed ? () => takeOff(models, narrowing) : undefined}
    >
      {!isNarrowed && begin}
    </EmptyState>
  );
}
