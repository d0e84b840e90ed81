/** The operations in the words of the page: the title of its form, what the button does, and what a person gets. */

interface ShownOperation {
  title: string
  verb: string
  purpose: string
}

export const FOR_PEOPLE: Record<string, ShownOperation> = {
  lookup: {
    title: 'Company by number',
    verb: 'Look up',
    purpose: 'The record of one company. An unknown number costs nothing.',
  },
  search: {
    title: 'Search by name',
    verb: 'Search',
    purpose: 'Up to ten companies whose names are similar, the best first. An answer without a company costs the same.',
  },
  resolve: {
    title: 'Check which company it is',
    verb: 'Check',
    purpose: 'One company for a name with its Eircode, address or number, or why none is certain, at the same price.',
  },
  history: {
    title: 'History of a company',
    verb: 'Show the history',
    purpose: 'What the recorded files of the register said of one company, and since when.',
  },
  as_of: {
    title: 'A company on a day',
    verb: 'Show that day',
    purpose: 'The record of one company as the register had it on an earlier day.',
  },
  changes: {
    title: 'Changes in the register',
    verb: 'Show the changes',
    purpose:
      'Companies that were added, removed or changed between two days. An answer without a change costs the same.',
  },
  batch: { title: 'List', verb: 'Buy the list', purpose: 'Many rows for one payment.' },
}
