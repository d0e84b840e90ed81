/**
 * The child process that downloads an archive, builds a snapshot or writes the journal, and ends.
 * store/import/build-process.ts starts it and sends the job.
 */
import { writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { errorCode } from '../base/error-code.ts'
import { StoreError } from '../files/environment.ts'
import { recordRetrievals } from '../history/record.ts'
import { buildFile, type ImportProgress } from './build.ts'
import type { ChildJob, ChildMessage } from './build-process.ts'
import { downloadArchive } from './download.ts'
import { ImportError } from './errors.ts'

const KIB = 1024

// The channel closes when the parent has died, or after the result below.
process.on('disconnect', () => process.exit())
// A terminal or a supervisor signals the whole group. The parent decides when this process stops.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
// Unhandled rejections are ignored, so a failure here must end the process.
process.on('message', (job: ChildJob) => void run(job).catch(() => process.exit(1)))

async function run(job: ChildJob): Promise<void> {
  await yieldToService()
  send(await perform(job).catch(describeFailure), () => process.disconnect())
}

/**
 * Requests take precedence over the import. If memory runs out, Linux kills this process and not the service. A
 * system-call filter or a read-only `/proc` can deny both.
 */
async function yieldToService(): Promise<void> {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The import runs with the priority of the service.
  }
  await writeFile('/proc/self/oom_score_adj', '1000').catch(() => undefined)
}

async function perform(job: ChildJob): Promise<ChildMessage> {
  const result = await resultOf(job)
  return { kind: 'done', result, peakMemoryBytes: process.resourceUsage().maxRSS * KIB }
}

function resultOf(job: ChildJob) {
  const onProgress = (progress: ImportProgress) => send({ kind: 'progress', progress }, () => undefined)
  switch (job.kind) {
    case 'download':
      return downloadArchive(job.request)
    case 'build':
      return buildFile(job.request, { onProgress })
    case 'record':
      return recordRetrievals(job.request)
  }
}

function describeFailure(error: unknown): ChildMessage {
  const { name, message, cause } = error instanceof Error ? error : new Error('not an Error')
  const isStore = error instanceof StoreError || (error instanceof Error && 'syscall' in error)
  const kind = error instanceof ImportError ? 'refused' : isStore ? 'store failed' : 'defect'
  return { kind, name, message, code: errorCode(error), cause: cause instanceof Error ? cause.message : undefined }
}

function send(message: ChildMessage, done: () => void): void {
  process.send?.(message, done)
}
