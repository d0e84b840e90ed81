/** The progress bar of a build of a snapshot. */
import { openBar } from '../../command-line/progress-bar.ts'
import type { CliContext } from '../../command-line/context.ts'
import type { ImportProgress } from '../../../store/import/build.ts'

const STEPS: Record<ImportProgress['phase'], string> = {
  rows: 'reading, step 1 of 2 | ',
  hash: 'hashing, step 2 of 2 | ',
}

/** The progress of an import: the share of the archive that is read, then of the entries that are hashed. */
export function openImportBar(output: Pick<CliContext, 'stderr' | 'print'>) {
  const bar = openBar(output)
  const onProgress = ({ phase, rows, share }: ImportProgress) =>
    bar.onProgress({ step: STEPS[phase], share, text: `${rows} rows` })
  return { ...bar, onProgress }
}
