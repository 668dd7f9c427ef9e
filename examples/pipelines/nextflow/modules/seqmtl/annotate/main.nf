process SEQMTL_ANNOTATE {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(genome), val(like), path(introns)
    path model
    path tree

    output:
    tuple val(meta), path("${prefix}"), emit: results
    tuple val(meta), path("${prefix}/report.html"), emit: report
    tuple val(meta), path("${prefix}/sites.introns.gff3"), emit: introns
    tuple val(meta), path("${prefix}/model.seqmtl"), emit: model
    tuple val(meta), path("${prefix}/summary.json"), emit: summary
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def model_option = model ? "--model $model" : ''
    def tree_option = tree ? "--tree $tree" : ''
    def introns_option = introns ? "--introns $introns" : ''
    """
    seqmtl annotate $genome --organism '${meta.id}' --like '$like' \\
        $model_option $tree_option $introns_option --threads $task.cpus $args -o ${prefix}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/report.html ${prefix}/sites.introns.gff3 ${prefix}/model.seqmtl ${prefix}/summary.json
    """
}
