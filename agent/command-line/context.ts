/** What the commands use of the process: environment, streams, clock and network. Tests pass their own values. */
import type { Command } from 'commander'

export interface CliContext {
  environment: Record<string, string | undefined>
  /** Writes one line to stdout. Commands get a version that escapes invisible characters. */
  print: (line: string) => void
  /** Writes to stdout as they are. */
  writeBytes: (bytes: Uint8Array) => void
  stdin: AsyncIterable<Uint8Array>
  /** Resolves when stdout has taken everything that was printed. Rejects if it has not. */
  flush: () => Promise<void>
  /** Whether stdout is a terminal, on which a person reads. */
  isTerminal?: boolean | undefined
  /** Whether stderr is one, which then shows progress. */
  isErrorTerminal?: boolean | undefined
  /** Errors, usage and progress. */
  stderr: NodeJS.WritableStream
  now: () => Date
  fetch: typeof globalThis.fetch
  sleep: (milliseconds: number) => Promise<void>
  /** Calls back once after this time, unless the returned function is called first. */
  later: (milliseconds: number, callback: () => void) => () => void
  /** Asks the user a question. Undefined without a terminal to ask at. Ctrl-C and Ctrl-D reject. */
  confirm: (question: string) => Promise<boolean | undefined>
  /**
   * Aborted by the first SIGINT, SIGTERM or SIGHUP after this call; its reason is the name of the signal. The next one,
   * or one after `until` is aborted, ends the process.
   */
  interrupted: (until?: AbortSignal) => AbortSignal
  /** Makes this process one that gives way to the service, for example when memory runs out. */
  runInBackground: () => Promise<void>
  /** Ends the process when the command has ended, also if a call that was aborted still waits for the service. */
  endAtOnce: () => void
}

export interface CommandContext extends CliContext {
  finish: (result: CommandResult) => void
  /** Writes one line to stderr, escaped: what accompanies an answer on stdout. Nothing with `--quiet`. */
  note: (line: string) => void
  /** Whether `--json` is given: stdout then has one JSON document, also for a refusal. */
  isJson: boolean
  printJson: (value: unknown) => void
  /** Writes why there is no answer: one line on stderr, and with `--json` also a document on stdout. */
  fail: (failure: Failure) => void
  /** Shows how far a command is: on a terminal, one line that the next call replaces. */
  showStatus: (line: string) => void
}

export interface Failure {
  /** The line. */
  message: string
  /** For programs. */
  code: string
  /** Further members of `error` in the document. */
  said?: object
  /** Further members of the document. */
  details?: object
  /** The document has what the register has, so stdout gets it without `--json` too. */
  isAnswer?: boolean
}

/** Whether the command succeeded, or its exit status. */
export type CommandResult = boolean | number

/** The exit status after wrong arguments. */
export const EXIT_USAGE = 2

/**
 * Finds the service that is meant when the user names none. Its data directory contains the folders of the purchases
 * and of the sandbox. The sandbox has the buyer's key.
 */
export type FindService = (
  context: CliContext,
) => Promise<{ url: string; mode: 'mainnet' | 'testnet'; dataDirectory: string }>

/**
 * Adds a command with its subcommands to the program. The file of a command imports only types and light modules. Its
 * action imports the rest, so that `--help` starts fast.
 */
export type AddCommand = (program: Command, context: CommandContext) => void
