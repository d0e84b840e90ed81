/**
 * Writes the log to stderr without waiting for its reader. Lines wait in a bounded buffer; those that do not fit are
 * counted in the next line that does. At the exit of the process the buffer is written for at most a second.
 */
import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'

const STDERR = 2
/** How long lost lines count. */
const LOST_MS = 600_000
/** Some thousand lines. */
export const BUFFER_BYTES_MAX = 1_048_576
/** Between two attempts to write to a full pipe. */
const RETRY_MS = 50
const EXIT_MS_MAX = 1_000

export class LogOutput {
  /** Lines that were lost since a line was last taken. The next line names their number. */
  lost = 0
  #lostAt = -Infinity
  readonly #descriptor: number
  #lines: string[] = []
  #bytes = 0
  /** Is being written, or waits for room in the pipe. */
  #chunk: Uint8Array = new Uint8Array()
  #isBeingWritten = false

  constructor(descriptor = STDERR) {
    this.#descriptor = openWithoutBlocking(descriptor)
    process.once('exit', () => this.#writeRest())
  }

  /** Called by pino for each line, which ends in `}` and a line end. */
  write(line: string): void {
    const text = this.lost === 0 ? line : line.replace(/\}\n$/, `,"lines_lost":${this.lost}}\n`)
    const bytes = Buffer.byteLength(text)
    if (this.#bytes + bytes > BUFFER_BYTES_MAX) {
      this.lost += 1
      this.#lostAt = performance.now()
      return
    }
    this.lost = 0
    this.#lines.push(text)
    this.#bytes += bytes
    if (this.#chunk.length === 0) this.#writeNext()
  }

  hasLost(): boolean {
    return performance.now() - this.#lostAt < LOST_MS
  }

  #writeNext(): void {
    if (this.#chunk.length === 0) this.#takeLines()
    if (this.#chunk.length === 0) return
    this.#isBeingWritten = true
    write(this.#descriptor, this.#chunk, (fault, written) => {
      this.#isBeingWritten = false
      const isFull = fault?.code === 'EAGAIN'
      this.#remove(fault ? (isFull ? 0 : this.#chunk.length) : written)
      if (isFull) setTimeout(() => this.#writeNext(), RETRY_MS).unref()
      else this.#writeNext()
    })
  }

  #takeLines(): void {
    this.#chunk = Buffer.from(this.#lines.splice(0).join(''))
  }

  /** A reader that has closed the pipe loses the log, and the service goes on. */
  #remove(written: number): void {
    this.#bytes -= written
    this.#chunk = this.#chunk.subarray(written)
  }

  /** Node completes a write in progress before it exits. */
  #writeRest(): void {
    const end = performance.now() + EXIT_MS_MAX
    if (this.#isBeingWritten) this.#remove(this.#chunk.length)
    while (this.#bytes > 0 && performance.now() < end) {
      if (this.#chunk.length === 0) this.#takeLines()
      try {
        this.#remove(writeSync(this.#descriptor, this.#chunk))
      } catch (fault) {
        if ((fault as NodeJS.ErrnoException).code !== 'EAGAIN') return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      }
    }
  }
}

/**
 * Opens a pipe or a terminal again, because a write to the shared descriptor would block a thread, or all processes
 * that share it would stop blocking. A file is shared, so that all its writers have one position.
 */
function openWithoutBlocking(descriptor: number): number {
  const stats = fstatSync(descriptor)
  if (!stats.isFIFO() && !stats.isCharacterDevice()) return descriptor
  try {
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return descriptor
  }
}
