/** The child process that builds one snapshot or writes the journal, and ends. store/import/build-process.ts starts it and sends the job. */
import { writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { StoreError } from '../files/environment.ts'
import { recordRetrievals } from '../history/retrieval.ts'
import { buildFile, type ImportProgress } from './build.ts'
import type { BuildFailure, BuildJob, ChildMessage, ParentMessage, RecordJob } from './build-process.ts'
import { ImportError } from './errors.ts'

const KIB = 1024

let isStopped = false

// The channel closes when the parent has died, or after the result below.
process.on('disconnect', () => process.exit())
// A terminal or a supervisor signals the whole group. The parent decides when this process stops.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
process.on('message', (message: ParentMessage) => {
  if (message.kind === 'stop') isStopped = true
  else void run(message.job)
})

async function run(job: BuildJob | RecordJob): Promise<void> {
  await yieldResources()
  const result = await (job.kind === 'build' ? build(job) : record(job)).catch((error: unknown): ChildMessage => ({
    kind: 'failed',
    failure: toFailure(error),
  }))
  process.send?.(result, () => process.disconnect())
}

/** Requests take precedence over the import. If memory runs out, Linux kills this process and not the service. */
async function yieldResources(): Promise<void> {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  await writeFile('/proc/self/oom_score_adj', '1000').catch(() => undefined)
}

async function build({ importedAt, ...job }: BuildJob): Promise<ChildMessage> {
  const built = await buildFile({ ...job, now: () => new Date(importedAt), onProgress })
  return { kind: 'built', built, peakMemoryBytes: peakMemoryBytes() }
}

async function record(job: RecordJob): Promise<ChildMessage> {
  return { kind: 'recorded', recording: await recordRetrievals(job), peakMemoryBytes: peakMemoryBytes() }
}

const peakMemoryBytes = () => process.resourceUsage().maxRSS * KIB

/** Called after each batch, outside of any transaction, so the build can stop here. */
function onProgress(progress: ImportProgress): void {
  if (isStopped) throw new ImportError('stopped', 'the import was stopped')
  process.send?.({ kind: 'progress', progress } satisfies ChildMessage, () => undefined)
}

function toFailure(error: unknown): BuildFailure {
  if (!(error instanceof Error)) return { kind: 'defect', name: 'not an Error' }
  const { message } = error
  const cause = error.cause instanceof Error ? error.cause.message : undefined
  if (error instanceof ImportError) return { kind: 'import', code: error.code, message, cause }
  if (error instanceof StoreError) return { kind: 'store', message, cause }
  if ('syscall' in error && 'code' in error) return { kind: 'system', message, code: String(error.code) }
  return { kind: 'defect', name: error.name }
}
