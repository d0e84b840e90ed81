/** The documents for the current dataset: they name its licence and, on mainnet, one of its companies as an example. */
import { buildExamples } from '../../agent/operation/examples.ts'
import type { Catalog } from '../../store/catalog.ts'
import { CRO_COMPANIES } from '../../store/source.ts'
import type { Deployment } from './deployment.ts'
import { loadTemplates, renderDocuments, type WrittenDocument } from './render-documents.ts'

export type Documents = ReadonlyMap<string, WrittenDocument>

interface DocumentOptions {
  deployment: Deployment
  companyNumber: () => string | undefined
  catalog: Pick<Catalog, 'retrieval'>
}

/** The documents by path. They are rendered again only when a value of the dataset that they show has changed. */
export async function openDocuments({ deployment, companyNumber, catalog }: DocumentOptions): Promise<() => Documents> {
  const templates = await loadTemplates()
  let last: { shown: string; documents: Documents } | undefined
  return () => {
    const { license, license_url } = catalog.retrieval()?.source ?? CRO_COMPANIES
    const dataset = { examples: buildExamples(companyNumber()), licence: { name: license, url: license_url } }
    const shown = JSON.stringify(dataset)
    if (last?.shown !== shown) last = { shown, documents: renderDocuments({ ...deployment, ...dataset }, templates) }
    return last.documents
  }
}
