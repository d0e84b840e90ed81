/** The targets of every measured row. A target bounds the value, or its ratio to the baseline of the same run. */

export interface PerfTarget {
  /** The name of its file in `perf/`, as in `bench perf --only NAME`. */
  file: string
  row: string
  unit: string
  digits: number
  limit?: { of: 'value' | 'ratio'; bound: 'at most' | 'at least'; value: number }
}

type Limit = NonNullable<PerfTarget['limit']>

const valueAtMost = (value: number): Limit => ({ of: 'value', bound: 'at most', value })
const ratioAtMost = (value: number): Limit => ({ of: 'ratio', bound: 'at most', value })
const ratioAtLeast = (value: number): Limit => ({ of: 'ratio', bound: 'at least', value })

/** One row of the table below. */
function target(file: string, row: string, unit: string, digits: number, limit?: Limit): PerfTarget {
  return { file, row, unit, digits, ...(limit && { limit }) }
}

/** The same row, beside the former release. */
function former(file: string, row: string, unit: string, digits: number): PerfTarget {
  return target(file, row, unit, digits, ratioAtMost(FORMER_RATIO_MAX))
}

/** Contract 6.1.1: a refusal before the check of the signature costs at most this many times as much as a quote. */
const FORGED_RATIO_MAX = 2

/**
 * Beside Express as its guide uses it, which takes four times as long as node:http. Most of that is its change of
 * prototypes, which the service avoids (rest-facade/messages.ts).
 */
const EXPRESS_RATIO_MAX = 1.5

/** A refused body costs its address one unit, and at most this many times as much as a quote. */
const REFUSED_RATIO_MAX = 5

/** Several monitors may scrape every second. */
const SCRAPE_RATIO_MAX = 5

/** CPU time of a sale beside a quote, with 64 connections. */
const SALE_RATIO_MAX = 16

/** The rounds of one run vary by about as much. */
const FORMER_RATIO_MAX = 1.03

/** Of both commits of a sale, which write two headers beside the pages. */
const PAGES_MAX = 12

/** A batch never holds the event loop for longer. */
const HOLD_MS_MAX = 25

/** Longer frames are noticed as a pause after a key. */
const FRAME_MS_MAX = 200

/** Milliseconds and seconds depend on the machine and its load; ratios do less. */
export const PERF_TARGETS = {
  'quote p50': target('quote', 'quote, 1 connection, p50', 'ms', 3, valueAtMost(0.15)),
  'quote cpu': target('quote', 'quote, 16 connections, CPU', 'us', 1, ratioAtMost(3)),
  'quote express': target('quote', 'quote, 16 connections, CPU', 'us', 1, ratioAtMost(EXPRESS_RATIO_MAX)),
  'forged terms': target('forged', 'forged payment, wrong terms, CPU', 'us', 1, ratioAtMost(FORGED_RATIO_MAX)),
  'forged large': target('forged', 'forged payment, header of 8 KiB, CPU', 'us', 1, ratioAtMost(FORGED_RATIO_MAX)),
  'forged values': target('forged', 'forged payment, most extensions, CPU', 'us', 1, ratioAtMost(FORGED_RATIO_MAX)),
  'forged base64': target('forged', 'forged payment, invalid base64, CPU', 'us', 1, ratioAtMost(FORGED_RATIO_MAX)),
  'forged depth': target('forged', 'forged payment, deep JSON, CPU', 'us', 1, ratioAtMost(FORGED_RATIO_MAX)),
  'refused marks': target('refused', 'batch of combining marks, CPU', 'us', 1, ratioAtMost(REFUSED_RATIO_MAX)),
  'refused ligatures': target('refused', 'batch of ligatures, CPU', 'us', 1, ratioAtMost(REFUSED_RATIO_MAX)),
  'refused members': target('refused', 'batch of many members, CPU', 'us', 1, ratioAtMost(REFUSED_RATIO_MAX)),
  'refused values': target('refused', 'batch of many values, CPU', 'us', 1, ratioAtMost(REFUSED_RATIO_MAX)),
  'refused size': target('refused', 'batch of more than 64 KiB, CPU', 'us', 1, ratioAtMost(REFUSED_RATIO_MAX)),
  'scrape cpu': target('scrape', 'scrape of the metrics, 1 connection, CPU', 'us', 0, ratioAtMost(SCRAPE_RATIO_MAX)),
  'replay p50': target('replay', 'replay, 1 connection, p50', 'ms', 3, valueAtMost(0.25)),
  'paid p50': target('paid-lookup', 'paid lookup, 1 connection, p50', 'ms', 3),
  'paid cpu': target('paid-lookup', 'paid lookup, 64 connections, CPU', 'us', 0, ratioAtMost(SALE_RATIO_MAX)),
  'paid rate': target('paid-lookup', 'paid lookup, 64 connections, rate', '1/s', 0),
  'former p50': former('former', 'paid lookup, 1 connection, p50', 'ms', 3),
  'former alone': former('former', 'paid lookup, 1 connection, CPU', 'us', 0),
  'former cpu': former('former', 'paid lookup, 64 connections, CPU', 'us', 0),
  'former rate': target('former', 'paid lookup, 64 connections, rate', '1/s', 0, ratioAtLeast(1 / FORMER_RATIO_MAX)),
  'postgres p50': target('paid-lookup', 'paid lookup on PostgreSQL, 1 connection, p50', 'ms', 3),
  'postgres cpu': target('paid-lookup', 'paid lookup on PostgreSQL, 64 connections, CPU', 'us', 0, ratioAtMost(1.6)),
  'postgres rate': target('paid-lookup', 'paid lookup on PostgreSQL, 64 connections, rate', '1/s', 0),
  'receipt cpu': target('paid-lookup', 'receipt of a lookup, CPU', 'us', 1, ratioAtMost(0.08)),
  'receipt jose': target('paid-lookup', 'receipt of a lookup, CPU', 'us', 1, ratioAtMost(0.7)),
  'mcp cpu': target('mcp', 'paid lookup over MCP, 8 connections, CPU', 'us', 0, ratioAtMost(1.5)),
  'batch p50': target('batch', '100 lookups in one batch, 1 connection, p50', 'ms', 1, ratioAtMost(0.1)),
  'batch cpu': target('batch', '100 lookups in one batch, CPU', 'ms', 1, ratioAtMost(0.1)),
  'batch holds lookup': target('batch', 'event loop held by 100 lookups', 'ms', 1, valueAtMost(HOLD_MS_MAX)),
  'batch holds resolve': target('batch', 'event loop held by 100 slow names', 'ms', 1, valueAtMost(HOLD_MS_MAX)),
  'batch holds as_of': target('batch', 'event loop held by 1 MiB of past records', 'ms', 1, valueAtMost(HOLD_MS_MAX)),
  'batch holds mcp': target('batch', 'event loop held by 50 past records over MCP', 'ms', 1, valueAtMost(HOLD_MS_MAX)),
  'former quote': former('former', 'quote, 16 connections, CPU', 'us', 1),
  'former replay': former('former', 'replay, 16 connections, CPU', 'us', 1),
  'former batch': former('former', '100 lookups in one batch, 4 connections, CPU', 'us', 0),
  'former search': former('former', 'paid search, 16 connections, CPU', 'us', 0),
  'former import': former('former', 'import, CPU', 's', 2),
  'log writes new': target('log-writes', 'pages of a sale, new log', 'pages', 1, valueAtMost(PAGES_MAX)),
  'page frames': target(
    'page-list',
    'longest frame of the page while 1,000 rows are decided by keyboard',
    'ms',
    0,
    valueAtMost(FRAME_MS_MAX),
  ),
  'list memory': target(
    'list',
    'client reconcile of 10,000 rows of 33 columns in .xlsx, peak memory',
    'MiB',
    0,
    valueAtMost(238),
  ),
  'search exact p99': target('search', 'search, exact name, p99', 'ms', 2, valueAtMost(1)),
  'search fuzzy p50': target('search', 'search, misspelt name, p50', 'ms', 2, valueAtMost(4)),
  'search fuzzy p99': target('search', 'search, misspelt name, p99', 'ms', 2, valueAtMost(10)),
  'search slowest': target('search', 'search, slowest of all', 'ms', 2, valueAtMost(50)),
  'million p50': target('search-million', 'a million, misspelt, p50', 'ms', 2, valueAtMost(4)),
  'million p99': target('search-million', 'a million, misspelt, p99', 'ms', 2, valueAtMost(15)),
  'million missed': target('search-million', 'a million, missed of the ten best', '%', 1, valueAtMost(1)),
  'million memory': target('search-million', 'a million, memory of the index', 'MiB', 0, valueAtMost(200)),
  'resolve p99': target('search', 'resolve, exact name, p99', 'ms', 2, valueAtMost(1)),
  'import cpu': target('import', 'import, CPU', 's', 2),
  'import memory': target('import', 'import, peak memory', 'MiB', 0, valueAtMost(512)),
  'history disk': target('history', 'journal of 1,000 days, 815,000 companies', 'MiB', 0, valueAtMost(2048)),
  'history cpu': target('history', 'a day of changes, CPU', 's', 3, ratioAtMost(0.2)),
  'history versions': target('history', 'versions of a company, p99', 'ms', 3, valueAtMost(2)),
  'history day': target('history', 'company on a day, p99', 'ms', 3, valueAtMost(2)),
  'history page': target('history', 'page of 100 changes, p99', 'ms', 3, valueAtMost(20)),
  'history watched': target('history', 'changes of named companies in 30 days, p99', 'ms', 3, valueAtMost(5)),
}

export type PerfRowId = keyof typeof PERF_TARGETS

/** A limit as a page shows it. */
export const describeLimit = ({ of, bound, value }: NonNullable<PerfTarget['limit']>): string =>
  `${of} ${bound} ${Number(value.toFixed(2))}`
