/** Imports the register of the tests in this process. A start would do it in child processes, which take long. */
import type { Config } from '../../agent/service/config.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { CRO_COMPANIES } from '../../store/dataset/source.ts'
import { importDataset } from '../../store/import/run.ts'
import { REGISTER } from './fixtures.ts'

/**
 * Does nothing if the service has another dataset.
 * @returns for the start of the service, whose retrieval finds the same file again
 */
export async function importRegister({ dataset, dataDirectory }: Config, now: () => Date) {
  if (dataset !== REGISTER) return {}
  const catalog = new Catalog(dataDirectory)
  if (!catalog.retrieval())
    await importDataset({ dataDirectory, catalog, path: REGISTER, publication: CRO_COMPANIES, now })
  await catalog.close()
  return { importSteps: { record: async () => undefined } }
}
