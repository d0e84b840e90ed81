/** The documents for the current dataset: they name its licence and, on mainnet, one of its companies as an example. */
import type { ExampleCompany } from '../../agent/operation/operation.ts'
import type { Catalog } from '../../store/dataset/catalog.ts'
import { CRO_COMPANIES } from '../../store/dataset/source.ts'
import type { DocumentedDeployment } from './deployment.ts'
import { renderDocuments } from './render-documents.ts'
import { loadTemplates, type WrittenDocument } from './templates.ts'

export type Documents = ReadonlyMap<string, WrittenDocument>

interface DocumentOptions {
  deployment: Omit<DocumentedDeployment, 'exampleCompany' | 'statuses' | 'licence'>
  exampleCompany: () => ExampleCompany | undefined
  statuses: () => string
  catalog: Pick<Catalog, 'retrieval'>
}

/** The documents by path. They are rendered again only when a value that they show has changed. */
export async function openDocuments(options: DocumentOptions): Promise<() => Documents> {
  const { deployment, exampleCompany, statuses, catalog } = options
  const templates = await loadTemplates()
  let last: { shown: string; documents: Documents } | undefined
  return () => {
    const { license, license_url } = catalog.retrieval()?.source ?? CRO_COMPANIES
    const current = {
      exampleCompany: exampleCompany(),
      statuses: statuses(),
      licence: { name: license, url: license_url },
    }
    const shown = JSON.stringify(current)
    if (last?.shown !== shown) last = { shown, documents: renderDocuments({ ...deployment, ...current }, templates) }
    return last.documents
  }
}
