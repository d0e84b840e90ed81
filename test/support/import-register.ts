/** Imports the register of the tests in this process. A start would do it in child processes, which take long. */
import type { Config } from '../../agent/service/config.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { CRO_COMPANIES } from '../../store/dataset/source.ts'
import { importDataset } from '../../store/import/run.ts'
import { REGISTER } from './fixtures.ts'

/** Does nothing if the service has another dataset. */
export async function importRegister({ dataset, dataDirectory }: Config, now: () => Date): Promise<void> {
  if (dataset !== REGISTER) return
  const catalog = new Catalog(dataDirectory)
  await importDataset({ dataDirectory, catalog, path: REGISTER, publication: CRO_COMPANIES, now })
  await catalog.close()
}
